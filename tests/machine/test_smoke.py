"""What tests may need of the machine works where it is found: a server, a browser, a Java runtime."""

import re
import struct
import subprocess

import psycopg
import pytest
from playwright.sync_api import sync_playwright

from needs import chromium, java, needs


@needs("postgres")
def test_a_server_keeps_what_is_written(postgres):
    with psycopg.connect(postgres) as connection:
        connection.execute("create table kept (n integer)")
        connection.execute("insert into kept values (41), (1)")
    with psycopg.connect(postgres) as again:
        assert again.execute("select sum(n) from kept").fetchone() == (42,)


@pytest.mark.slow
@needs("chromium")
def test_a_page_runs_its_script_and_is_drawn(tmp_path):
    page_file = tmp_path / "page.html"
    page_file.write_text("<h1>before</h1><script>document.querySelector('h1').textContent = 6 * 7</script>")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 320, "height": 200})
        page.goto(page_file.as_uri())
        assert page.inner_text("h1") == "42"
        picture = page.screenshot()
        browser.close()
    assert picture.startswith(b"\x89PNG")
    assert struct.unpack(">II", picture[16:24]) == (320, 200)


@needs("java")
def test_java_is_new_enough_for_spark():
    ask = [java(), "-XshowSettings:properties", "-version"]
    told = subprocess.run(ask, capture_output=True, text=True, check=True).stderr
    version = re.search(r"java\.specification\.version = ([\d.]+)", told)
    assert float(version[1]) >= 17


@needs("spark")
@pytest.mark.slow
def test_spark_counts_rows():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
    try:
        assert session.range(1000).where("id % 10 = 0").count() == 100
    finally:
        session.stop()
