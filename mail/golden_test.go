package mail

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const pythonParser = `
import sys, email, email.policy
for path in sys.argv[1:]:
    m = email.message_from_binary_file(open(path, "rb"), policy=email.policy.SMTP.clone(raise_on_defect=False))
    for part in m.walk():
        bad = list(part.defects) + [d for v in part.values() for d in getattr(v, "defects", ())]
        if not part.is_multipart():
            part.get_content()
        if bad:
            print(path, part.get_content_type(), bad)
    if not (m["From"].addresses and m["To"].addresses and m["Date"].datetime.tzinfo and m["Subject"]):
        print(path, "lacks a field")
`

// TestGoldenMailsParse checks that two independent Go parsers, and Python's if installed, can parse the golden emails.
func TestGoldenMailsParse(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.eml"))
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := parseMail(t, raw)
		if len(p.parts) == 0 || p.subject == "" {
			t.Errorf("%s: %+v", file, p)
		}
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Log("SKIPPED: no Python here, which would be a third parser")
		return
	}
	if out, err := exec.Command(python, append([]string{"-c", pythonParser}, files...)...).CombinedOutput(); err != nil ||
		len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}
