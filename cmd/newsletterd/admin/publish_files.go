package admin

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/frontmatter"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/mail/markup"
	"newsletterd/store"
)

// keepPictures stores the images that a source refers to by path. It returns the source with the paths replaced by
// URLs.
func (p publisher) keepPictures(c *cli.Context, cfg *config.Config, s *store.Store, tenantID, file string,
	issue *frontmatter.Matter,
) (source string, err error) {
	source = issue.Body
	pictures, err := markup.LocalPictures(source)
	if err != nil || len(pictures) == 0 {
		return source, inFile(file, issue, err)
	}
	origin, err := mediaOrigin(c, cfg, s, tenantID)
	if err != nil {
		return source, err
	}
	if u, err := url.Parse(origin); err == nil {
		if a, err := netip.ParseAddr(u.Hostname()); err == nil && a.IsLoopback() || u.Hostname() == "localhost" {
			fmt.Fprintf(p.Err, "warning: Images are served at %s, which recipients elsewhere can't reach. Set "+
				"server.public_url.\n", origin)
		}
	}
	addresses := map[string]string{}
	for _, pic := range pictures {
		m, err := keepPicture(c, cfg, s, tenantID, file, pic)
		if err != nil {
			return source, fmt.Errorf("%s:%d: %s: %s", file, pic.Line+issue.Before, pic.Path, message(err))
		}
		addresses[pic.Path] = m.View(origin).URL
	}
	return markup.PlacePictures(source, addresses), nil
}

// keepAttachments stores the attachments that the front matter names, and returns their IDs. As for images, paths are
// relative to the file's folder.
func (p publisher) keepAttachments(c *cli.Context, cfg *config.Config, s *store.Store, tenantID, file string,
	issue *frontmatter.Matter,
) (ids []string, err error) {
	for _, name := range issue.Texts["attachments"] {
		m, err := keepFile(c, cfg, s, tenantID, file, name, "")
		if err != nil {
			return nil, fmt.Errorf("%s:%d: attachments: %s: %s", file, issue.Lines["attachments"], name, message(err))
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// keepPicture stores an image file.
func keepPicture(c *cli.Context, cfg *config.Config, s *store.Store, tenantID, file string, pic markup.Picture) (
	m core.Media, err error,
) {
	path, err := url.PathUnescape(pic.Path)
	if err != nil {
		return m, err
	}
	return keepFile(c, cfg, s, tenantID, file, path, pic.Alt)
}

// errOutside is returned if a newsletter names a file outside of its folder, even through a symbolic link. Otherwise, a
// newsletter that another person wrote could contain a private file.
var errOutside = errors.New("it is outside the newsletter's folder. To allow this, pass --allow-outside")

// openNextTo opens a file by its path relative to the folder of the newsletter's file.
func openNextTo(c *cli.Context, file, name string) (*os.File, error) {
	folder, name := filepath.Dir(file), filepath.Join(".", filepath.FromSlash(name))
	if c.Bool("allow-outside") {
		return os.Open(filepath.Join(folder, name))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	opened, err := root.Open(name)
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		if _, system := errors.AsType[syscall.Errno](fault.Err); !system { // os.Root refused to open it
			return nil, errOutside
		}
		fault.Path = filepath.Join(folder, name)
	}
	return opened, err
}

// keepFile stores a file that a newsletter names, and returns it. If the file was already stored, it returns the
// existing media.
func keepFile(c *cli.Context, cfg *config.Config, s *store.Store, tenantID, file, name, alt string) (m core.Media, err error) {
	in := core.MediaInput{Name: new(filepath.Base(filepath.FromSlash(name))), Alt: &alt}
	if m, err = core.NewMedia(tenantID, cli.Actor(), in, now()); err != nil {
		return m, err
	}
	limits := parts.MediaLimits(cfg)
	opened, err := openNextTo(c, file, name)
	if err != nil {
		return m, err
	}
	defer opened.Close()
	if m.Full, m.Mail, err = mediaIn(c.Context, opened, limits); err != nil {
		return m, err
	}
	kept, err := cli.Pages(func(m core.Media) string { return m.ID }, func(page core.Page) ([]core.Media, error) {
		return s.MediaOf(c.Context, tenantID, m.Name, page)
	})
	if err != nil {
		return m, err
	}
	for _, k := range kept {
		if k.Mail.SHA256 == m.Mail.SHA256 && k.Name == m.Name {
			return k, nil
		}
	}
	return s.AddMedia(c.Context, m, limits, cli.Actor())
}
