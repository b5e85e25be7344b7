package main

import (
	"bytes"
	"net"
	"os/exec"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/mailtest"
)

// TestUpgradeGuideSendsNothing starts a daemon on a copy of the database, as docs/upgrade.md says. The mail server was
// set in the console, and an email waits. The daemon on the copy must save that email to a folder.
func TestUpgradeGuideSendsNothing(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "curl")
	script := strings.TrimSpace(commandsOf(guide(t, "upgrade.md")))
	if !strings.Contains(script, "newsletterd serve --database copy.db") {
		t.Fatalf("docs/upgrade.md does not start a copy:\n%s", script)
	}
	server, err := mailtest.NewSink("127.0.0.1:0", mailtest.SinkOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	shell := exec.Command("bash")
	shell.Dir, shell.Env = dir, programIn(t, dir)
	shell.Stdin = strings.NewReader(strings.ReplaceAll(`set -euo pipefail
newsletterd migrate
newsletterd admin tenant create --name Acme
newsletterd admin list create --tenant Acme --name News
newsletterd admin mail-server set --host 127.0.0.1 --port `+port+` --tls none --from news@example.org --test-to ann@example.org
newsletterd admin subscriber add --list News --email waits@example.org
`+script+` &
trap 'kill $!' EXIT
until newsletterd status --database copy.db | grep -q '^mails *0 waiting'; do :; done
curl -sf http://127.0.0.1:8090/healthz
grep -q 'To: <waits@example.org>' copy-mail/*.eml
`, "127.0.0.1:8090", daemontest.FreeAddr(t)))
	var out bytes.Buffer
	shell.Stdout, shell.Stderr = &out, &out
	if err := shell.Run(); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	if n := server.Count(); n != 1 {
		t.Errorf("the mail server got %d emails, not only the test", n)
	}
}
