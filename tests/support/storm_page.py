"""A page of news with a menu, a table and a foot, and what stands in it."""

URL = "https://a.example/storm"
LEAD = "The storm reached the harbour in the night, and the ferries to the islands stayed in port until Tuesday noon."
CELL = "a long cell of the table with a sentence about the wind"
PAGE = f"""<!DOCTYPE html><html lang="en"><head><title>Storm closes the harbour</title>
<meta name="author" content="Ada Wren"><meta property="article:published_time" content="2026-03-01"></head><body>
<nav><a href="/">Home</a> <a href="/news">News</a> <a href="/sport">Sport</a></nav>
<article><h1>Storm closes the harbour</h1><p>{LEAD}</p>
<p>Nobody was hurt, said the master of the port, but <a href="/damage">two piers are damaged</a> now.</p>
<table><tr><th>day</th><th>wind in knots, as the harbour's own station measured it</th></tr>
<tr><td>Monday</td><td>{CELL}</td></tr></table>
<p>The next storm is expected on Friday, and the port will close in time, as the master said in the morning.</p>
</article><footer>Copyright 2026 by the harbour</footer></body></html>"""
EMPTY = "<html><body></body></html>"
BINARY = b"%PDF-1.4\x00\x01"
