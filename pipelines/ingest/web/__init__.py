"""Web archives: WARC, ARC and WET, and the answers of servers in them."""
