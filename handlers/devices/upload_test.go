package devices

import (
	"errors"
	"io"
	"strings"
	"testing"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// FuzzUploadParts checks that an accepted form has exactly one file, and that every error in a form is the caller's
// fault.
func FuzzUploadParts(f *testing.F) {
	part := func(disposition, content string) string {
		return "--x\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
	}
	for _, body := range []string{
		part(`name="name"`, "Cube") + part(`name="file"; filename="c.stl"`, "solid") + "--x--\r\n",
		part(`name="file"`, "a") + part(`name="file"`, "b") + "--x--", part(`name="file"`, "cut"), "--x--", "",
		"--x\r\n" + strings.Repeat("X-Long: y\r\n", 3000) + "\r\n\r\n--x--", strings.Repeat(part(`name="a"`, "b"), 100),
	} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		files := 0
		var meta core.ModelInput
		err := web.ReadParts(strings.NewReader(body), "x", filePart(&meta, func(r io.Reader) error {
			files++
			_, err := io.Copy(io.Discard, r)
			return err
		}), modelField(&meta))
		var e *core.Error
		switch {
		case err == nil && files != 1 || files > 1:
			t.Errorf("%d files, %v", files, err)
		case err != nil && (!errors.As(err, &e) || e.Kind != core.Invalid):
			t.Errorf("%T %v", err, err)
		}
	})
}
