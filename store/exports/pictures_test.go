package exports

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"testing"
)

// packed returns an export with a post and these other files.
func packed(t testing.TB, names ...string) *Export {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range append(names, "posts.csv") {
		text := "data of " + name
		if name == "posts.csv" {
			text = "title,status,content_html\nOne,published,<p>A</p>\n"
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A relative address finds the picture of the archive whose path ends like it. Names are never paths on the disk.
func TestPicturesOfAnArchive(t *testing.T) {
	e := packed(t, "blog/images/a.png", `blog\images\b c.JPG`, "x/twice.gif", "y/twice.gif", "secret.txt")
	for address, want := range map[string]string{
		"images/a.png": "data of blog/images/a.png", "/images/a.png?size=1": "data of blog/images/a.png",
		"../../images/b%20c.JPG": `data of blog\images\b c.JPG`, "es/a.png": "", "twice.gif": "",
		"x/twice.gif": "data of x/twice.gif", "secret.txt": "", "https://a.example/images/a.png": "", "": "", "%": "",
		"//a.example/images/a.png": "",
	} {
		if got, err := e.Picture(address, 100); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", address, got, err)
		}
	}
}

// A picture that is larger than the room left is not read.
func TestPicturesOfAnArchiveFit(t *testing.T) {
	e := packed(t, "a.png")
	size := int64(len("data of a.png"))
	for room, fits := range map[int64]bool{size: true, size - 1: false, 0: false, -1: false} {
		if got, err := e.Picture("a.png", room); err != nil || got != nil != fits {
			t.Errorf("room for %d bytes: %q, %v", room, got, err)
		}
	}
}

// A post can show thousands of pictures of an archive with thousands of files of the same name.
func TestPicturesOfTheSameName(t *testing.T) {
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("the-images-of-an-old-newsletter/%d/a.png", i))
	}
	e := packed(t, names...)
	if n := testing.AllocsPerRun(10, func() {
		if !e.HasPicture("/500/a.png") || e.HasPicture("a.png") || e.HasPicture("/00/a.png") {
			t.Error("pictures with the same name are mixed up")
		}
	}); n > 50 {
		t.Errorf("finding three pictures among 1,000 allocates %v times", n)
	}
}

func FuzzPictureOfAnArchive(f *testing.F) {
	f.Add("images/a.png")
	f.Add("../../etc/passwd.png")
	e := packed(f, "blog/images/a.png")
	f.Fuzz(func(t *testing.T, address string) {
		if got, err := e.Picture(address, 100); err != nil || got != nil && string(got) != "data of blog/images/a.png" {
			t.Errorf("%q: %q, %v", address, got, err)
		}
	})
}
