"""Functions that can't be had: refused with the nearest thing that can, or refused as unsafe.

With ``functions``, ``lambda_types`` and the aggregates these are all that Spark has; a test walks
Spark's own list.
"""

_TIME_CHANCE_PLACE = """
    curdate current_catalog current_database current_date current_path current_schema current_time
    current_timestamp current_timezone current_user getdate input_file_block_length
    input_file_block_start input_file_name localtime localtimestamp monotonically_increasing_id now
    rand
    randn random randstr session_user shuffle spark_partition_id sysdate systimestamp uniform user
    uuid version
"""
TIME_CHANCE_PLACE = frozenset(_TIME_CHANCE_PLACE.split())
"""Their value depends on when, where or by what luck they run, so no two sites would agree."""

_UNSAFE = """
reflect java_method try_reflect: runs code, which no site admits

xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short \
xpath_string from_xml schema_of_xml to_xml: reads XML, whose entities may reach files and hosts \
outside of a record; make JSON of it before it is written, or take it apart with regexp_extract

from_avro to_avro schema_of_avro from_protobuf to_protobuf: takes schemas and options that reach \
files of the machine; declare a source of the format instead

aes_encrypt aes_decrypt try_aes_decrypt hmac: takes a key, which would travel in the query to \
every site and into their logs; encrypt before the record is written

assert_true raise_error: ends the job of everybody who shares it; write WHERE, or count_if(…)

python_worker_logs collations sql_keywords: tells of the machine that it runs on, not of a record
"""
"""They reach outside of their arguments, or harm whoever runs them."""

_ADVICE = """
median percentile percentile_cont percentile_disc: needs all values in one place; write \
percentile_approx(x, 0.5), which is within 1% of the value

histogram_numeric: places its bars by the order in which records are read; write \
approx_histogram(x), or GROUP BY a bucket such as floor(x / 10) and count(*)

first first_value last last_value nth_value: depends on the order in which records are read; \
write min_by(x, ts) or max_by(x, ts)

count_min_sketch: is not available; write approx_top_k(x, 10), or GROUP BY the column and \
count(*)

hll_union_agg: takes sketches, which no source has; write hll_sketch_agg(x), which is \
merged over sites and panes by itself

tumble hop: is not available; GROUP BY window(ts, '10 seconds') or \
window(ts, '30 seconds', '10 seconds')

row_number rank dense_rank: needs OVER, as in row_number() OVER (PARTITION BY window ORDER BY x)

lag lead ntile cume_dist percent_rank counter_diff: needs OVER and all rows in one place; write \
ORDER BY … LIMIT, which applies to each window's answer, or row_number

window_time: takes the window alone, as in window_time(window); write window.end for its end

explode explode_outer posexplode posexplode_outer inline inline_outer: makes several records of \
one; write LATERAL VIEW explode(tags) AS tag, and then tag

stack json_tuple range \
variant_explode variant_explode_outer: makes several rows of one; take values out with tags[0], \
m['key'] or get_json_object(x, '$.a'), or count them with size(filter(xs, x -> …))

arrays_zip: names its fields by how its arguments are written; write \
zip_with(a, b, (x, y) -> named_struct('a', x, 'b', y))

make_interval try_make_interval: mixes months and days; write make_dt_interval or make_ym_interval

div: is an operator; write a DIV b

collate collation: strings are compared by their bytes; write lower(a) = lower(b)

time make_time to_time try_to_time time_diff time_trunc time_from_micros time_from_millis \
time_from_seconds time_to_micros time_to_millis time_to_seconds: times of a day are not available; \
write date_format(ts, 'HH:mm'), or hour(ts) * 3600 + minute(ts) * 60 + second(ts)

time_bucket: is not available; write date_trunc('hour', ts), or GROUP BY window(ts, '1 hour')

timestamp_nanos unix_nanos: times have microseconds; write timestamp_micros or unix_micros

decimal: is not available as a function; write CAST(x AS DECIMAL(10, 2))

st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid: places on a map are not available; \
keep longitude and latitude as numbers

variant_array_append variant_delete variant_insert variant_set variant_strip_nulls \
try_variant_array_append try_variant_insert try_variant_set to_variant_object is_valid_variant \
schema_of_variant_agg: changes a variant, which no answer has; read one with \
variant_get(parse_json(x), '$.a', 'bigint')

approx_top_k_accumulate approx_top_k_combine approx_top_k_estimate bitmap_and_agg \
bitmap_construct_agg bitmap_or_agg: takes or makes a sketch, \
which is not available; write approx_top_k(x, 10) or approx_count_distinct(x), or \
GROUP BY the column and count(*)

kll_sketch_get_rank_bigint kll_sketch_get_rank_double kll_sketch_get_rank_float: \
is not needed for a rank: write count_if(x <= 100) / count(x), which is exact

hll_union kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_merge_bigint \
kll_sketch_merge_double kll_sketch_merge_float kll_sketch_to_string_bigint \
kll_sketch_to_string_double kll_sketch_to_string_float: is not available in a query, \
whose sketches are merged over sites and panes by themselves. Show the sketch, and write this \
where the answers are read; of sets there is theta_union(theta_sketch_agg(a), theta_sketch_agg(b))

theta_intersection_agg theta_union_agg: takes sketches, which no source has; write \
theta_sketch_agg(x), which is merged over sites and panes by itself, or \
theta_intersection(theta_sketch_agg(a), theta_sketch_agg(b))

tuple_difference_double tuple_difference_integer tuple_difference_theta_double \
tuple_difference_theta_integer tuple_intersection_agg_double tuple_intersection_agg_integer \
tuple_intersection_double tuple_intersection_integer tuple_intersection_theta_double \
tuple_intersection_theta_integer tuple_sketch_agg_double tuple_sketch_agg_integer \
tuple_sketch_estimate_double tuple_sketch_estimate_integer tuple_sketch_summary_double \
tuple_sketch_summary_integer tuple_sketch_theta_double tuple_sketch_theta_integer \
tuple_union_agg_double tuple_union_agg_integer tuple_union_double tuple_union_integer \
tuple_union_theta_double tuple_union_theta_integer: takes or makes a tuple sketch, which is not \
available; GROUP BY the column, and sum what belongs to it

collect_union vector_avg vector_sum: needs all arrays in one place; take values out, and sum them

measure: belongs to metric views; write the aggregate itself
"""


def _sentences(text: str) -> dict[str, str]:
    """By name; an entry stands in one line."""
    entries = (entry.partition(":") for entry in text.split("\n") if entry.strip())
    return {name: sentence.strip() for names, _, sentence in entries for name in names.split()}


ADVICE = _sentences(_ADVICE)
UNSAFE = _sentences(_UNSAFE)


def advice(name: str) -> str | None:
    """The sentence for a function that is refused by name; None for one that is unknown."""
    if name in TIME_CHANCE_PLACE:
        return (
            f"{name} depends on the time, place or chance of a run, so sites would not agree; "
            "use the record's own columns"
        )
    sentence = UNSAFE.get(name) or ADVICE.get(name)
    return None if sentence is None else f"{name} {sentence}"
