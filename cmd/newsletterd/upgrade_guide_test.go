package main

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/mailtest"
)

// upgradeGuide returns the commands of docs/upgrade.md: those that upgrade and go back, and those that start a copy.
func upgradeGuide(t *testing.T) (upgrade, onCopy string) {
	t.Helper()
	const first = "newsletterd backup --to copy.db\n"
	upgrade, onCopy, found := strings.Cut(strings.TrimSpace(commandsIn(t, "upgrade.md")), first)
	if !found || !strings.Contains(onCopy, "newsletterd serve --database copy.db") {
		t.Fatalf("docs/upgrade.md does not start a copy:\n%s", onCopy)
	}
	return upgrade, first + onCopy
}

// TestUpgradeGuide runs the commands of docs/upgrade.md that upgrade a server and go back. A shell function stands in
// for systemd. The old and the new program differ only in a comment.
func TestUpgradeGuide(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "install", "cmp")
	upgrade, _ := upgradeGuide(t)
	const back = "systemctl stop newsletterd\nnewsletterd restore "
	upgrade, again, found := strings.Cut(upgrade, back)
	if !found {
		t.Fatalf("docs/upgrade.md does not go back:\n%s", upgrade)
	}
	dir, bin := t.TempDir(), t.TempDir()
	env := programIn(t, bin)
	shell := exec.Command("bash")
	shell.Dir = dir
	shell.Env = append(env, "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"),
		"NEWSLETTERD_SERVER_LISTEN="+daemontest.FreeAddr(t), "NEWSLETTERD_METRICS_LISTEN=")
	shell.Stdin = strings.NewReader(`set -euo pipefail
for age in old new; do
  printf '#!/bin/sh\nexec '` + bin + `'/newsletterd "$@" # %s\n' $age > $age-newsletterd
done
chmod +x *-newsletterd
mkdir bin && cp old-newsletterd bin/newsletterd
systemctl() {
  case $1 in
  start) newsletterd serve 2>> log & daemon=$!; until newsletterd healthy > /dev/null 2>&1; do kill -0 $daemon; done ;;
  stop) kill $daemon; wait $daemon ;;
  esac
}
trap 'kill $daemon' EXIT
systemctl start newsletterd
newsletterd admin tenant create --name Acme
` + strings.NewReplacer("/usr/local/bin", "bin", "/var/lib/newsletterd", ".").Replace(upgrade+
		"cmp new-newsletterd bin/newsletterd\nnewsletterd admin tenant create --name Later\n"+back+again) + `
cmp old-newsletterd bin/newsletterd
newsletterd admin tenant list > tenants
grep Acme tenants
if grep Later tenants; then exit 1; fi
`)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// TestUpgradeGuideSendsNothing starts a daemon on a copy of the database, as docs/upgrade.md says. The mail server was
// set in the console, and an email waits. The daemon on the copy must save that email to a folder.
func TestUpgradeGuideSendsNothing(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "curl")
	_, script := upgradeGuide(t)
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
