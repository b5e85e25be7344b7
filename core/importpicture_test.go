package core

import (
	"strings"
	"testing"
)

func TestPictureName(t *testing.T) {
	for address, want := range map[string]string{
		"https://a.example/b/c.png?d": "c.png", "https://a.example": "picture", "https://a.example/": "picture",
		"https://cdn.example/w_1456/https%3A%2F%2Fa.example%2Fb%2Fc.jpeg": "c.jpeg", "images/c.gif": "c.gif",
		"data:image/png;base64,AAAA": "picture", "https://a.example/%C2%85%0A": "picture", ":": "picture",
	} {
		if got := PictureName(address); got != want {
			t.Errorf("%q: %q, not %q", address, got, want)
		}
	}
}

// Whatever the address of a picture is, its copy has a valid name, and its key is short.
func FuzzPictureName(f *testing.F) {
	f.Add("https://cdn.example/w_1456/https%3A%2F%2Fa.example%2Fb%2Fc.jpeg")
	f.Add("https://a.example/%C2%85")
	f.Add("data:image/png;base64,AAAA")
	f.Fuzz(func(t *testing.T, address string) {
		name := PictureName(address)
		if _, err := NewMedia("t", "user:1", MediaInput{Name: &name}, 1); err != nil {
			t.Errorf("%q: %q: %v", address, name, err)
		}
		if key := PictureKey(address); len(key) > maxPictureAddress && !strings.HasPrefix(key, "data:") {
			t.Errorf("the key has %d bytes", len(key))
		}
	})
}
