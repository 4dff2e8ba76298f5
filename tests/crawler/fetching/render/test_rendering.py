"""How pages are rendered: what the settings say, and what Chromium is told."""

import pytest
from scrapy.settings import Settings

from crawler.config import Config
from crawler.errors import RenderError
from crawler.fetching.render.rendering import Rendering


def rendering(**settings):
    return Rendering.of(Config.read(Settings(settings)))


def test_a_replay_denies_the_browser_the_network():
    online = rendering()
    offline = rendering(REPLAY="pages")
    assert (online.network, offline.network) == (True, False)
    assert "--host-resolver-rules=MAP * ~NOTFOUND" in offline.launch_options()["args"]
    assert "--host-resolver-rules=MAP * ~NOTFOUND" not in online.launch_options()["args"]


def test_a_stored_page_loads_nothing_and_no_page_opens_windows():
    assert "default-src 'none'" in rendering(REPLAY="pages").content_policy()
    for policy in (rendering().content_policy(), rendering(REPLAY="pages").content_policy()):
        assert "sandbox allow-scripts allow-same-origin" in policy
        assert "frame-src 'none'" in policy


@pytest.mark.parametrize(("sandbox", "is_root", "has_sandbox"), [("auto", True, False), ("auto", False, True)])
def test_root_has_no_sandbox(monkeypatch, sandbox, is_root, has_sandbox):
    monkeypatch.setattr("os.geteuid", lambda: 0 if is_root else 1000)
    assert rendering(CHROMIUM_SANDBOX=sandbox).launch_options()["chromium_sandbox"] is has_sandbox


def test_the_setting_decides_about_the_sandbox():
    assert rendering(CHROMIUM_SANDBOX="on").launch_options()["chromium_sandbox"] is True
    assert rendering(CHROMIUM_SANDBOX="off").launch_options()["chromium_sandbox"] is False


def test_a_page_has_the_time_limit_and_scripts_of_the_settings():
    options = rendering(RENDER_SECONDS=3, RENDER_JAVASCRIPT=True)
    assert options.launch_options()["timeout"] == 3_000
    assert options.context_options()["java_script_enabled"] is True
    assert rendering(RENDER_JAVASCRIPT=False).context_options()["java_script_enabled"] is False


def test_a_missing_browser_is_named():
    with pytest.raises(RenderError, match="CHROMIUM is 'no-such-browser', which is not an executable program"):
        rendering(CHROMIUM="no-such-browser").launch_options()
