package core

import "testing"

func TestVideoOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://www.youtube.com/watch?v=dQw4w9WgXcQ&t=42s": "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
		"youtu.be/dQw4w9WgXcQ?si=x":                         "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
		"https://m.youtube.com/shorts/dQw4w9WgXcQ":          "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
		"https://vimeo.com/76979871":                        "https://vimeo.com/76979871",
		"https://vimeo.com/76979871/ab12cd34ef":             "https://vimeo.com/76979871/ab12cd34ef",
		"https://player.vimeo.com/video/76979871":           "https://vimeo.com/76979871",
		"https://www.youtube.com/@channel":                  "",
		"https://www.youtube.com/watch?v=../../x":           "",
		"https://youtube.com.evil.example/watch?v=dQw4w9W":  "",
		"https://vimeo.com/channels/staffpicks":             "",
		"file:///youtube.com/watch":                         "",
		"https://shop.example/film":                         "",
		"::":                                                "",
	} {
		if _, page, ok := VideoOf(address); page != want || ok != (want != "") {
			t.Errorf("%s is %q, %v; want %q", address, page, ok, want)
		}
	}
}
