"""What the database knows of a page's past (`scrapy history`).

read.py      the page, its requests, and the lifetimes of its texts
moments.py   what changed when: texts added, gone, and edited
show.py      on the terminal
"""
