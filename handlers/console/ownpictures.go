package console

import (
	"strings"

	"newsletterd/core"
)

// ownPicture is one of the tenant's images as the editor script expects it.
type ownPicture struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	Alt  string `json:"alt"`
}

// MostPicture returns the maximum size of an uploaded image in bytes.
func (p *Page) MostPicture() int64 { return p.console.options.PictureBytes }

// TooLargePicture returns the error message for an image that is too large, which the script shows instead of uploading
// the image.
func (p *Page) TooLargePicture() string {
	return p.faultText(core.MediaLimits{Bytes: p.MostPicture()}.TooLarge())
}

// ownPictures lists the tenant's newest images.
func (o *Console) ownPictures(p *Page) (any, error) {
	var found []core.MediaView
	if _, err := p.Get("/api/media", p.ofTenant("limit", "60"), &found); err != nil {
		return nil, err
	}
	out := []ownPicture{}
	for i := range found {
		if m := &found[i]; strings.HasPrefix(m.Type, "image/") {
			out = append(out, ownPicture{m.URL, m.Name, m.Alt})
		}
	}
	return out, nil
}
