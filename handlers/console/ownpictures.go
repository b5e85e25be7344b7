package console

import (
	"strings"

	"newsletterd/core"
)

// ownPicture is a picture of the tenant as the script of the editor reads it.
type ownPicture struct {
	URL  string `json:"url"`
	Name string `json:"name"`
	Alt  string `json:"alt"`
}

// MostPicture is how many bytes an uploaded picture may have.
func (p *Page) MostPicture() int64 { return p.console.options.PictureBytes }

// TooLargePicture says that a picture has more, as the script does before it sends one.
func (p *Page) TooLargePicture() string {
	return p.faultText(core.MediaLimits{Bytes: p.MostPicture()}.TooLarge())
}

// ownPictures lists the newest pictures of the tenant.
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
