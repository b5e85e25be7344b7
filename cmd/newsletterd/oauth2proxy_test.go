package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"newsletterd/cmd/newsletterd/browsertest"
	"newsletterd/cmd/newsletterd/daemontest"
)

// oauth2ProxyEnv names the program oauth2-proxy if it isn't in PATH. `make pages` sets it.
const oauth2ProxyEnv = "OAUTH2_PROXY"

// guard is oauth2-proxy, configured as in docs/oidc.md but without https, in front of a page that shows who is signed
// in.
type guard struct {
	*running
	url, client string
	came        chan http.Header // of requests that reach the protected page
}

func newGuard(t *testing.T, change func(command string) string) *guard {
	t.Helper()
	exe := os.Getenv(oauth2ProxyEnv)
	if exe == "" {
		var err error
		if exe, err = exec.LookPath("oauth2-proxy"); err != nil {
			t.Skip("SKIPPED: no oauth2-proxy on this machine, so its settings in docs/oidc.md are not tried")
		}
	}
	g := &guard{running: start(t, nil), came: make(chan http.Header, 100)}
	g.addUser("ann@example.org")
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/protected" {
			g.came <- r.Header
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>Intranet</title><h1>The intranet</h1>"))
	}))
	t.Cleanup(behind.Close)
	addr := daemontest.FreeAddr(t)
	g.url = "http://" + addr

	text, err := os.ReadFile("../../docs/oidc.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## oauth2-proxy\n")
	section, _, _ = strings.Cut(section, "\n## ")
	here := strings.NewReplacer("https://news.example.org", g.cfg.Origin(), "https://intranet.example.org", g.url,
		`["news.example.org"]`, `["`+g.listener.Addr().String()+`"]`, "http://127.0.0.1:3000", behind.URL,
		"127.0.0.1:4180", addr)
	command, rest, _ := strings.Cut(commandsOf(section), "--json\n")
	if command == "" || rest != "" {
		t.Fatalf("the guide has other commands than one: %q", commandsOf(section))
	}
	secret := ""
	g.client, secret = g.register(t, here.Replace(change(command)+"--json"))

	_, config, found := strings.Cut(section, "```ini\n")
	config, _, _ = strings.Cut(config, "```\n")
	if !found || strings.Count(config, "…") != 3 {
		t.Fatal("the guide has no settings with three blanks")
	}
	_, recipe, _ := strings.Cut(config, `cookie_secret = "…"`)
	recipe, _, _ = strings.Cut(strings.TrimLeft(recipe, " #"), "\n")
	cookie, err := exec.Command("bash", "-c", recipe).Output()
	if err != nil {
		t.Fatalf("%q: %v", recipe, err)
	}
	for _, blank := range [][2]string{
		{"client_id", g.client},
		{"client_secret", secret},
		{"cookie_secret", strings.TrimSpace(string(cookie))},
	} {
		config = strings.Replace(config, "\n"+blank[0]+` = "…"`, "\n"+blank[0]+` = "`+blank[1]+`"`, 1)
	}
	config = strings.Replace(here.Replace(config), "reverse_proxy = true",
		"reverse_proxy = false\ncookie_secure = false", 1)
	file := filepath.Join(t.TempDir(), "oauth2-proxy.cfg")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	startOther(t, exec.Command(exe, "--config", file), func() bool {
		res, err := http.Get(g.url + "/ping")
		if err == nil {
			res.Body.Close()
		}
		return err == nil
	})
	return g
}

// register runs the command of the guide on the daemon's database.
func (g *guard) register(t *testing.T, command string) (id, secret string) {
	t.Helper()
	dir := t.TempDir()
	c := exec.Command("bash", "-c", command)
	c.Dir, c.Env = dir, append(programIn(t, dir), "NEWSLETTERD_DATABASE_PATH="+g.cfg.Database.Path)
	out, err := c.Output()
	var made struct {
		ID     string
		Secret string `json:"client_secret"`
	}
	if err == nil {
		err = json.Unmarshal(out, &made)
	}
	if err != nil || made.ID == "" || made.Secret == "" {
		t.Fatalf("%v: %s\n%s", err, command, out)
	}
	return made.ID, made.Secret
}

// told returns the headers of the request that reached the page.
func (g *guard) told(t *testing.T) http.Header {
	t.Helper()
	select {
	case h := <-g.came:
		return h
	default:
		t.Fatal("nobody came through")
		return nil
	}
}

// TestBrowserOAuth2Proxy signs in through oauth2-proxy as configured in docs/oidc.md, reaches the protected page, and
// signs out.
func TestBrowserOAuth2Proxy(t *testing.T) {
	for name, asked := range map[string]bool{"first party": false, "with consent": true} {
		t.Run(name, func(t *testing.T) {
			b := browsertest.New(t)
			g := newGuard(t, func(command string) string {
				if asked {
					return strings.Replace(command, "--first-party", "", 1)
				}
				return command
			})
			b.Open(g.url+"/protected", browsertest.Heading("Sign in"),
				chromedp.SendKeys("#email", "ann@example.org"),
				chromedp.SendKeys("#password", daemontest.Password+"\r"))
			if asked {
				b.Do(browsertest.Heading("Allow access?"), chromedp.Click(`button[value="allow"]`))
			}
			b.Do(browsertest.Heading("The intranet"))
			user, err := g.store.UserByEmail(t.Context(), "ann@example.org")
			if err != nil {
				t.Fatal(err)
			}
			h := g.told(t)
			if h.Get("X-Forwarded-Email") != "ann@example.org" || h.Get("X-Forwarded-User") != user.ID {
				t.Errorf("the page behind was told %v", h)
			}

			// This only ends the proxy's session: the next page signs in again without a question.
			b.Open(g.url+"/oauth2/sign_out", browsertest.Heading("The intranet"),
				chromedp.Navigate(g.url+"/protected"), browsertest.Heading("The intranet"))
			g.told(t)
			if !g.log.Has(`"route":"/api/oauth/logout","status":200`) {
				t.Error("the proxy did not end the sign-in whose session it ended")
			}

			logout := g.cfg.Origin() + "/api/oauth/logout?" +
				url.Values{"client_id": {g.client}, "post_logout_redirect_uri": {g.url + "/"}}.Encode()
			b.Open(g.url+"/oauth2/sign_out?rd="+url.QueryEscape(logout), browsertest.Heading("Sign out?"),
				chromedp.Click("form[action='/logout'] button"), browsertest.Heading("Sign in"))
			b.Open(g.url+"/protected", browsertest.Heading("Sign in"))
		})
	}
}
