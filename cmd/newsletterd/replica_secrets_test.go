package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/store/replica/objectstest"
)

// TestTheReplicaTellsNoKeys makes a storage echo requests in every kind of error. The output of the daemon and of
// commands must not contain a key or a signature.
func TestTheReplicaTellsNoKeys(t *testing.T) {
	daemontest.Parallel(t)
	const id = "AKIDNEVERSHOWN"
	var mode atomic.Value
	mode.Store("")
	storage := objectstest.New(t)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := r.Header.Get("Authorization")
		switch mode.Load() {
		case "403":
			w.WriteHeader(http.StatusForbidden)
		case "503":
			w.WriteHeader(http.StatusServiceUnavailable)
		case "redirect":
			w.Header().Set("Location", "http://127.0.0.1:1/?"+url.QueryEscape(said))
			w.Header().Set("X-Amz-Bucket-Region", said)
			w.WriteHeader(http.StatusTemporaryRedirect)
		case "no http":
			c, _, err := http.NewResponseController(w).Hijack()
			if err == nil {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+said+"\r\n\r\n")
				_ = c.Close()
			}
			return
		default:
			storage.ServeHTTP(w, r)
			return
		}
		fmt.Fprintf(w, "<Error><Code>Echo</Code><Message>%s</Message><Region>%[1]s</Region></Error>", said)
	}))
	t.Cleanup(front.Close)
	address := storage.URL()
	_, query, _ := strings.Cut(address, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	values.Set("endpoint", front.URL)
	settings := replicaSettings("s3://bucket/replica?" + values.Encode())
	secret := ""
	for i, s := range settings {
		if name, value, _ := strings.Cut(s, "="); name == "NEWSLETTERD_REPLICA_ACCESS_KEY_ID" {
			settings[i] = name + "=" + id
		} else if name == "NEWSLETTERD_REPLICA_SECRET_ACCESS_KEY" {
			secret = value
		}
	}
	signature := regexp.MustCompile(`(?i)signature=|[0-9a-f]{64}`)
	check := func(what, text string) {
		t.Helper()
		if strings.Contains(text, id) || strings.Contains(text, secret) {
			t.Errorf("%s tells a key:\n%s", what, text)
		}
		if s := signature.FindString(text); s != "" {
			t.Errorf("%s tells %s:\n%s", what, s, text)
		}
	}
	a := daemontest.New(t, append(settings, "NEWSLETTERD_METRICS_LISTEN=127.0.0.1:0")...)
	a.Serve()
	failing := 0
	for _, m := range []string{"403", "503", "redirect", "no http"} {
		mode.Store(m)
		commands := [][]string{{"replica", "status"}, {"status"}}
		if m == "403" {
			commands = append(commands, []string{"doctor"}, []string{"replica", "drill"},
				[]string{"replica", "restore", "--to", "restored.db"}, []string{"admin", "tenant", "create", "--name", "acme"})
		}
		for _, args := range commands {
			out, err := a.Cmd(args...).CombinedOutput()
			check(fmt.Sprint(m, args), string(out))
			if err != nil {
				failing++
			}
		}
		if r, err := a.Try(http.MethodGet, "/healthz", nil); err == nil {
			check(m+" /healthz", r.Text)
		}
	}
	if failing < 8 {
		t.Errorf("only %d commands fail", failing)
	}
	mode.Store("")
	a.Every(100e6, func() bool {
		r, err := a.Try(http.MethodGet, "/healthz", nil)
		return err == nil && r.StatusCode == http.StatusOK
	})
	a.Stop()
	log := a.Out.String()
	check("the log", log)
	if !strings.Contains(log, "can't be renewed") {
		t.Errorf("the storage did not refuse:\n%s", log)
	}
	mode.Store("403")
	out, _ := a.Cmd("serve").CombinedOutput()
	check("a start", string(out))
	for _, address := range []string{"s3://" + id + ":" + secret + "@bucket?region=a", "s3://bucket?region=a&" + id + "=1"} {
		for _, command := range []string{"serve", "config", "doctor", "status"} {
			c := a.Cmd(command)
			c.Env = append(c.Env, "NEWSLETTERD_REPLICA_URL="+address)
			out, err := c.CombinedOutput()
			if err == nil {
				t.Errorf("%s takes %s", command, address)
			}
			check(command, string(out))
		}
	}
}
