-- What sells, in every ten minutes, over all shops.
-- Each folder under sites/ is a shop with a sales.csv of its own.

CREATE SOURCE sales (
  sold_at  TIMESTAMP,
  product  STRING,
  quantity INT,
  price    DECIMAL(8, 2)
) WITH (format = 'csv', path = 'sales.csv', time = 'sold_at');

CREATE STREAM revenue WITH (begin = 'earliest') AS
SELECT window.start, product, sum(quantity) AS pieces, sum(quantity * price) AS revenue
FROM sales
GROUP BY window(sold_at, '10 minutes'), product
ORDER BY revenue DESC;
