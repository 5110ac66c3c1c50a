"""Serves a guestbook: a page of lines that visitors post.

The environment has TITLE, UNIT, PORT and libpq's variables (PGHOST and so on) for the
database. Each request opens its own connection, so restarts of the database need no care.
"""
import contextlib
import html
import http.server
import os
import urllib.parse

import psycopg2

PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title></head>
<body>
<h1>{title}</h1>
<form method="post"><input name="line" maxlength="200" required> <button>Write</button></form>
<ul>
{lines}</ul>
<p>Served by <span id="unit">{unit}</span>.</p>
</body>
</html>
"""


@contextlib.contextmanager
def transaction():
    """Yields a cursor and commits at the end."""
    connection = psycopg2.connect("", connect_timeout=3)
    try:
        with connection, connection.cursor() as cursor:
            yield cursor
    finally:
        connection.close()


def make_table():
    with transaction() as cursor:
        # The lock keeps units that start together from creating it concurrently.
        cursor.execute("SELECT pg_advisory_xact_lock(1)")
        cursor.execute("CREATE TABLE IF NOT EXISTS guests (id bigserial PRIMARY KEY, line text NOT NULL,"
                       " unit text NOT NULL, written timestamptz NOT NULL DEFAULT now())")


def write(line):
    with transaction() as cursor:
        cursor.execute("INSERT INTO guests (line, unit) VALUES (%s, %s)", (line, os.environ["UNIT"]))


def page():
    with transaction() as cursor:
        cursor.execute("SELECT line, unit FROM guests ORDER BY id DESC LIMIT 100")
        rows = cursor.fetchall()
    lines = "".join(f"<li>{html.escape(line)} (by {html.escape(unit)})</li>\n" for line, unit in rows)
    return PAGE.format(title=html.escape(os.environ["TITLE"]), unit=html.escape(os.environ["UNIT"]), lines=lines)


class Handler(http.server.BaseHTTPRequestHandler):
    timeout = 30

    def do_GET(self):
        if self.path != "/":
            return self.send_error(404)
        self.answer(200, page)

    do_HEAD = do_GET

    def do_POST(self):
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > 4096:
            return self.send_error(400)
        form = urllib.parse.parse_qs(self.rfile.read(int(length)).decode(errors="replace"))
        line = form.get("line", [""])[0].replace("\0", "")[:200].strip()
        if not line:
            return self.send_error(400, "The line is empty")
        # After a redirect, reloading the page does not post the line again.
        self.answer(303, lambda: write(line) or "", ("Location", "/"))

    def answer(self, status, body, *headers):
        try:
            text = body().encode()
        except psycopg2.Error as e:
            self.log_error("%s", e)
            return self.send_error(503, "The database does not answer")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(text)))
        for header in headers:
            self.send_header(*header)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)


if __name__ == "__main__":
    make_table()
    http.server.ThreadingHTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
