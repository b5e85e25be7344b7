package main

import (
	"bytes"
	"image"
	"image/jpeg"
	"net"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/mailtest"
)

// mailServer starts a mail server that knows a user, and returns it with its port.
func mailServer(t *testing.T, users map[string]string) (server *mailtest.Server, port string) {
	t.Helper()
	server, err := mailtest.NewServer(mailtest.Script{Users: users, Mechanisms: []string{"PLAIN"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	_, port, err = net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return server, port
}

// TestWritingGuide runs the commands of docs/writing.md with the tenant and the list of the quick start, a mail server
// and an image.
func TestWritingGuide(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash", "jq", "base64")
	var boot bytes.Buffer
	if err := jpeg.Encode(&boot, image.NewGray(image.Rect(0, 0, 60, 40)), nil); err != nil {
		t.Fatal(err)
	}
	_, port := mailServer(t, nil)
	runGuide(t, quickStart(t)+placed(t, map[string]string{"boot.jpg": boot.String()})+commandsIn(t, "writing.md")+`
until newsletterd admin job list --json | jq -e '.[0].status == "completed"'; do :; done
newsletterd admin list show --id "Monthly news" --json | jq -e '.archive'
`, "NEWSLETTERD_MAIL_TRANSPORT=smtp", "NEWSLETTERD_MAIL_SMTP_HOST=127.0.0.1", "NEWSLETTERD_MAIL_SMTP_PORT="+port,
		"NEWSLETTERD_MAIL_SMTP_TLS=none")
}

// TestMailServerGuide runs the commands of docs/mail-server.md with a mail server on this machine, and answers the
// question for the password.
func TestMailServerGuide(t *testing.T) {
	daemontest.Parallel(t)
	tools(t, "bash")
	server, port := mailServer(t, map[string]string{"news": "a password"})
	here := strings.NewReplacer("newsletterd admin mail-server set ",
		"echo a password | newsletterd admin mail-server set --tls none --port "+port+" ", "smtp.example.com", "127.0.0.1")
	runGuide(t, here.Replace(commandsIn(t, "mail-server.md")))
	if n := len(server.Messages()); n != 1 {
		t.Errorf("the mail server got %d emails, not only the test", n)
	}
}
