"""A page in a running browser: none of its requests leaves the machine."""

import socket
import textwrap

import pytest
from lxml import etree


def text(page):
    return " ".join(page.root.find("body").text_content().split())


@pytest.fixture
def listener():
    """Return the port of a TCP and UDP socket, and a function that tells who came."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        port = tcp.getsockname()[1]
        udp.bind(("127.0.0.1", port))
        tcp.setblocking(False)
        udp.setblocking(False)

        def arrived():
            arrivals = []
            for take in (tcp.accept, lambda: udp.recvfrom(100)):
                try:
                    arrivals.append(take())
                except BlockingIOError:
                    continue
            return arrivals

        yield port, arrived


ASKING = """
    <head><base href="http://127.0.0.1:{port}/"><meta http-equiv=refresh content="0;url=/refreshed">
    <link rel=stylesheet href=/a.css><link rel=preconnect href=/><link rel=dns-prefetch href=/><link rel=icon href=/i>
    <link rel=prefetch href=/p><link rel=preload as=image href=/l><link rel=modulepreload href=/m>
    <link rel=manifest href=/manifest><script src=/s.js></script>
    <script type=speculationrules>{{"prefetch": [{{"urls": ["/speculated"]}}]}}</script></head>
    <body background=/b style="background:url(/c)"><img src=/d srcset="/e 2x"><iframe src=/f></iframe>
    <iframe srcdoc="<img src=http://127.0.0.1:{port}/g>"></iframe><object data=/h></object><embed src=/j>
    <video src=/k poster=/k2></video><audio src=/n autoplay></audio><svg><image href=/o /><use href=/q#r /></svg>
    <style>@import url(/t); @font-face {{ font-family: f; src: url(/u) }} body {{ font-family: f }}</style>
    <form id=form action=/form method=post><input name=x></form><p>A river.</p>
"""
ASKING_BY_SCRIPT = """
    <script>
    const here = "http://127.0.0.1:{port}";
    const each = [
        () => fetch(here + "/1"), () => navigator.sendBeacon(here + "/2", "x"),
        () => new WebSocket("ws://127.0.0.1:{port}/3"), () => new EventSource(here + "/4"),
        () => {{ const x = new XMLHttpRequest(); x.open("GET", here + "/5"); x.send(); }},
        () => open(here + "/6"), () => form.submit(), () => {{ location = here + "/7"; }},
        () => {{ new Image().src = here + "/8"; }}, () => import(here + "/9"),
        () => new Worker(URL.createObjectURL(new Blob([`fetch("${{here}}/10"); new WebSocket("${{here}}/11")`]))),
        () => navigator.serviceWorker.register("/12"), () => new WebTransport("https://127.0.0.1:{port}/13"),
        () => {{
            const peer = new RTCPeerConnection({{iceServers: [{{urls: "stun:127.0.0.1:{port}"}}]}});
            peer.createDataChannel("x");
            peer.createOffer().then((offer) => peer.setLocalDescription(offer));
        }},
    ];
    for (const ask of each) try {{ ask()?.catch?.(() => 0) }} catch {{ }}
    </script>
"""


def test_a_stored_page_makes_no_request(still, listener):
    port, arrived = listener
    assert "A river." in text(still.render(textwrap.dedent(ASKING).format(port=port), f"http://127.0.0.1:{port}/"))
    assert arrived() == []


def test_scripts_reach_no_network_either(scripted, listener):
    port, arrived = listener
    page = scripted.render((ASKING + ASKING_BY_SCRIPT).format(port=port), "https://lake.example/")
    assert "A river." in text(page)
    assert arrived() == []


def test_files_are_not_read(scripted, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("the combination is 4711", "utf-8")
    page = scripted.render(
        f"<iframe src='file://{secret}'></iframe><object data='file://{secret}'></object><p id=p>A river.</p>"
        f"<script>fetch('file://{secret}').then(r => r.text()).then(t => p.append(t)); location='file://{secret}'</script>",
        f"file://{secret}",
    )
    assert text(page).startswith("A river.")
    assert "4711" not in etree.tostring(page.root, encoding="unicode")


def test_dialogs_windows_and_downloads_do_no_harm(scripted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = scripted.render(
        "<p>A river.</p><a id=a download=x.txt href='data:text/plain,x'>Save</a>"
        "<script>alert(1); confirm(2); prompt(3); open('about:blank'); a.click(); print();"
        "onbeforeunload = () => 'stay'</script><p>A lake.</p>"
    )
    assert "A lake." in text(page)
    assert list(tmp_path.iterdir()) == []


def test_a_script_that_leaves_the_page_does_not_take_it_along(scripted):
    """The browser stops reading there, so that what follows is lost; what came before stays."""
    assert "A river." in text(scripted.render("<p>A river.<script>location = 'http://x.invalid/'</script><p>A lake."))
