package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"newsletterd/cmd/newsletterd/daemontest"
	"newsletterd/mail/markup"
)

// headings matches the first heading of a newsletter, which serves as its subject.
var headings = regexp.MustCompile(`(?m)^# (.*)$|"type": "heading", "level": 1, "text": "((?:[^"\\]|\\.)*)"`)

// TestNewslettersAreNoSpam checks signed newsletters with SpamAssassin and its local rules: those of testdata in one
// theme each, and at full length those of the gallery in all four.
func TestNewslettersAreNoSpam(t *testing.T) {
	if testing.Short() {
		t.Skip("SpamAssassin takes seconds")
	}
	program, err := exec.LookPath("spamassassin")
	if err != nil {
		t.Skip("SKIPPED: no SpamAssassin here")
	}
	daemontest.Parallel(t)
	d := daemontest.New(t, "NEWSLETTERD_SERVER_PUBLIC_URL=https://news.letter.example", "NEWSLETTERD_MAIL_TRANSPORT=directory")
	d.Run("migrate")
	tenant := d.Field("id", "admin", "tenant", "create", "--name", "The Letter", "--domain", "letter.example",
		"--mail-from", "news@letter.example", "--postal-address", "Street 1\n12345 Town")
	d.Run("admin", "dkim", "create", "--tenant", tenant, "--domain", "letter.example")
	files, err := filepath.Glob("../../testdata/newsletters/*.*")
	d.Must(err)
	people := filepath.Join(d.Dir, "people.csv")
	d.Must(os.WriteFile(people, []byte("email,first_name\nzoe@reader.example,Zoë\n"), 0o600))
	lists := map[string]string{}
	sent := map[string]bool{}
	send := func(file, theme string) {
		name := filepath.Base(file)
		language := strings.TrimSuffix(name, filepath.Ext(name))
		language = language[len(language)-2:]
		if lists[language] == "" {
			lists[language] = d.Field("id", "admin", "list", "create", "--tenant", tenant, "--name", "Letter "+language,
				"--language", language)
			d.Run("admin", "subscriber", "import", "--list", lists[language], "--file", people)
		}
		if sent[name+" "+theme] {
			return
		}
		sent[name+" "+theme] = true
		source, err := os.ReadFile(file)
		d.Must(err)
		subject := headings.FindSubmatch(source)
		if subject == nil {
			t.Fatalf("%s has no heading", file)
		}
		path, err := filepath.Abs(file)
		d.Must(err)
		kind := map[string]string{".md": "--markdown", ".json": "--blocks"}[filepath.Ext(file)]
		d.Run("admin", "job", "create", "--list", lists[language], "--name", name+" "+theme, kind, path, "--theme", theme,
			"--subject", strings.ReplaceAll(string(subject[1])+string(subject[2]), `\"`, `"`), "--yes")
	}
	themes := markup.ThemeNames()
	for i, file := range files {
		send(file, themes[i%len(themes)])
	}
	for _, file := range gallery {
		for _, theme := range themes {
			if daemontest.AtLength() {
				send(file, theme)
			}
		}
	}
	d.Start()
	var mails []string
	daemontest.Await(t, "all newsletters in the folder", func() bool {
		mails, _ = filepath.Glob(filepath.Join(d.Dir, "mail", "*.eml"))
		return len(mails) >= len(sent)
	})
	d.Stop()
	var box bytes.Buffer
	for i, file := range mails {
		b, err := os.ReadFile(file)
		d.Must(err)
		if !bytes.HasPrefix(b, []byte("DKIM-Signature:")) {
			t.Errorf("%.300s is not signed", b)
		}
		box.WriteString("From news@letter.example Sun Nov 22 12:00:00 2026\nX-Mail: " + strconv.Itoa(i) + "\n")
		box.Write(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
		box.WriteString("\n")
	}
	file := filepath.Join(d.Dir, "mails.mbox")
	d.Must(os.WriteFile(file, box.Bytes(), 0o600))
	out, err := exec.Command(program, "--local", "--test-mode", "--mbox", file).Output()
	d.Must(err)
	status := regexp.MustCompile(`(?s)\nX-Spam-Status: \w+, score=(-?[0-9.]+).*?tests=(.*?)\sautolearn.*?\nX-Mail: (.*?)\n.*?\nSubject: (.*?)\n`)
	found, worst, why := status.FindAllSubmatch(out, -1), -100.0, map[string]int{}
	for _, m := range found {
		tests := string(bytes.Join(bytes.Fields(m[2]), nil))
		score, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil || score >= 1 {
			t.Errorf("%s: score %v, want below 1.0: %s", m[4], score, tests)
		}
		worst = max(worst, score)
		for test := range strings.SplitSeq(tests, ",") {
			why[test]++
		}
	}
	if len(found) != len(sent) {
		t.Errorf("%d mails were judged, not %d", len(found), len(sent))
	}
	t.Logf("%d newsletters, the highest score is %v; %v", len(found), worst, why)
}
