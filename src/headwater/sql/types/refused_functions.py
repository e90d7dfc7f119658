"""Functions that people ask for and that can't be had, with the nearest thing that can."""

_TIME_CHANCE_PLACE = """
    curdate current_catalog current_database current_date current_path current_schema current_time
    current_timestamp current_timezone current_user getdate input_file_block_length
    input_file_block_start input_file_name localtimestamp monotonically_increasing_id now rand
    randn random randstr session_user shuffle spark_partition_id sysdate systimestamp uniform user
    uuid version
"""
TIME_CHANCE_PLACE = frozenset(_TIME_CHANCE_PLACE.split())
"""Their value depends on when, where or by what luck they run, so no two sites would agree."""

_ADVICE = """
median percentile percentile_approx approx_percentile percentile_cont percentile_disc mode \
histogram_numeric: needs all values in one place; take min, max and avg, or GROUP BY a bucket such \
as floor(x / 10) and count(*)

collect_list collect_set array_agg listagg string_agg: grows with the data; GROUP BY the column \
instead, and each value is a row of the answer with its count(*)

first first_value last last_value any_value max_by min_by nth_value: depends on the order in which \
records are read; take min(x) or max(x)

approx_count_distinct: is not available; GROUP BY the column, and the answer has one row for each \
distinct value

approx_top_k count_min_sketch hll_sketch_agg hll_union_agg kll_sketch_agg_bigint \
kll_sketch_agg_double theta_sketch_agg: is not available, answers are exact; GROUP BY the column \
and count(*)

session_window tumble hop: is not available; GROUP BY window(ts, '10 seconds') or \
window(ts, '30 seconds', '10 seconds')

reflect java_method try_reflect: runs code, which no site admits

array map struct named_struct split from_json from_csv explode sequence regexp_extract_all \
str_to_map json_tuple: yields an array, map or struct, which no column holds; use \
get_json_object(x, '$.a') or split_part(x, ',', 1)

row_number rank dense_rank lag lead: needs OVER and all rows in one place; write \
ORDER BY … LIMIT, which applies to each window's answer

window_time: is not available; write window.end

extract date_part: is not available; write year(ts), month(ts), day(ts), hour(ts) …
"""
ADVICE: dict[str, str] = {
    name: sentence.strip()
    for names, _, sentence in (
        entry.partition(":") for entry in _ADVICE.split("\n") if entry.strip()
    )
    for name in names.split()
}


def advice(name: str) -> str | None:
    """The sentence for a function that is refused by name; None for one that is unknown."""
    if name in TIME_CHANCE_PLACE:
        return (
            f"{name} depends on the time, place or chance of a run, so sites would not agree; "
            "use the record's own columns"
        )
    return f"{name} {ADVICE[name]}" if name in ADVICE else None
