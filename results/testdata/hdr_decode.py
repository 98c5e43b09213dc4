"""Decodes an interval log by HdrHistogram's Python implementation and prints, for each tag, what all its intervals hold together."""
import json
import sys

from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogReader

LOWEST, HIGHEST, DIGITS = 1000, 600 * 10**9, 3


def main():
    reader = HistogramLogReader(sys.argv[1], HdrHistogram(LOWEST, HIGHEST, DIGITS))
    tags, starts = {}, []
    while True:
        interval = reader.get_next_interval_histogram()
        if interval is None:
            break
        starts.append(interval.get_start_time_stamp())
        tags.setdefault(interval.get_tag(), HdrHistogram(LOWEST, HIGHEST, DIGITS)).add(interval)
    json.dump({
        "start_s": reader.get_start_time_sec(),
        "first_ms": min(starts, default=0),
        "tags": {
            tag: {"count": h.get_total_count(), "p50": h.get_value_at_percentile(50), "p99": h.get_value_at_percentile(99), "max": h.get_max_value()}
            for tag, h in tags.items()
        },
    }, sys.stdout)


main()
