package main

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"newsletterd/cmd/newsletterd/config"
	"newsletterd/core"
	"newsletterd/mail/picture"
	"newsletterd/store"
	"newsletterd/store/people"
)

// mediaLimits are those of the configuration.
func mediaLimits(cfg *config.Config) core.MediaLimits {
	return core.MediaLimits{
		Bytes: int64(cfg.Limits.MediaBytes), BytesPerTenant: int64(cfg.Limits.MediaBytesPerTenant),
	}
}

func mediaFlags() []cli.Flag {
	return []cli.Flag{
		stringFlag("name", "`NAME` of the image"),
		stringFlag("alt", "alternative `TEXT`, for people who can't see the image"),
		boolFlag("decorative", "mark the image as decorative: it needs no alternative text"),
	}
}

// mediaInput reads the flags.
func mediaInput(c *cli.Context) core.MediaInput {
	in := core.MediaInput{Name: given(c, "name"), Alt: given(c, "alt")}
	if c.IsSet("decorative") {
		in.Decorative = new(c.Bool("decorative"))
	}
	return in
}

// mediaOrigin returns where the pictures of a tenant are served.
func mediaOrigin(c *cli.Context, cfg *config.Config, s *store.Store, tenantID string) (string, error) {
	t, err := s.Tenant(c.Context, tenantID)
	if err != nil {
		return "", missing(err, "tenant", tenantID)
	}
	return t.Origin(cfg.Origin()), nil
}

func (p *program) mediaCommands() *cli.Command {
	id := idFlag(people.NounMedia)
	all := p.command("list", "list a tenant's images, newest first", []cli.Flag{
		tenantFlag("tenant (`ID` or name)"), stringFlag("search", "filter by `TEXT` in the name or alternative text"),
	}, []string{"tenant"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		origin, err := mediaOrigin(c, cfg, s, c.String("tenant"))
		if err != nil {
			return err
		}
		rows, err := pages(func(m core.MediaView) string { return m.ID }, func(page core.Page) ([]core.MediaView, error) {
			found, err := s.MediaOf(c.Context, c.String("tenant"), c.String("search"), page)
			rows := make([]core.MediaView, len(found))
			for i := range found {
				rows[i] = found[i].View(origin)
			}
			return rows, err
		})
		if err != nil {
			return err
		}
		return list(p.printer(c), rows, "id", "name", "type", "width", "height", "bytes", "url")
	})
	show := p.command("show", "show an image", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			m, err := s.Media(c.Context, c.String("id"))
			if err != nil {
				return missing(err, "image", c.String("id"))
			}
			return p.showMedia(c, cfg, s, &m)
		})
	update := p.command("update", "update an image's name or alternative "+
		"text", append(mediaFlags(), id), []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			at := now()
			m, err := s.UpdateMedia(c.Context, c.String("id"), actor(), at, func(m *core.Media) error {
				return m.Change(mediaInput(c), at)
			})
			if err != nil {
				return missing(err, "image", c.String("id"))
			}
			return p.showMedia(c, cfg, s, &m)
		})
	del := p.command("delete", "delete an image", []cli.Flag{
		id, boolFlag("force", "delete it even if a template or send job uses it; recipients see a gap"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if err := s.DeleteMedia(c.Context, c.String("id"), c.Bool("force"), actor(), now()); err != nil {
			return missing(err, "image", c.String("id"))
		}
		return p.done(c, "Image %s deleted.", c.String("id"))
	})
	return &cli.Command{
		Name: "media", Usage: "manage images and files for emails",
		Subcommands: []*cli.Command{p.addMediaCommand(), all, show, update, del},
	}
}

func (p *program) addMediaCommand() *cli.Command {
	add := p.command("add", "add an image or a PDF", append(mediaFlags(), tenantFlag("tenant (`ID` or name)"),
		stringFlag("file", "image `FILE` (PNG, JPEG, GIF or WebP) or a PDF")), []string{"tenant", "file"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			in, limits := mediaInput(c), mediaLimits(cfg)
			if in.Name == nil {
				in.Name = new(filepath.Base(c.String("file")))
			}
			m, err := core.NewMedia(c.String("tenant"), actor(), in, now())
			if err != nil {
				return err
			}
			if m.Full, m.Mail, err = readMedia(c.Context, c.String("file"), limits); err != nil {
				return err
			}
			if m, err = s.AddMedia(c.Context, m, limits, actor()); err != nil {
				return missing(err, "tenant", c.String("tenant"))
			}
			return p.showMedia(c, cfg, s, &m)
		})
	add.Description = `Images are converted: upright, sRGB, without metadata, at most 1,200 pixels
wide. Use the printed URL in the email.

   newsletterd admin media add --tenant Acme --file boot.jpg --alt "A boot on a stone"`
	return add
}

// readMedia makes of the file of a picture or a document what is kept of it.
func readMedia(ctx context.Context, path string, limits core.MediaLimits) (full, mail core.MediaFile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return full, mail, err
	}
	defer file.Close()
	return mediaIn(ctx, file, limits)
}

// mediaIn is readMedia of a file that is open.
func mediaIn(ctx context.Context, file *os.File, limits core.MediaLimits) (full, mail core.MediaFile, err error) {
	info, err := file.Stat()
	if err == nil && info.Size() > limits.Bytes {
		err = limits.TooLarge()
	}
	if err != nil {
		return full, mail, err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return full, mail, err
	}
	if f, ok := picture.Document(data); ok {
		return f, f, nil
	}
	opened, err := picture.Open(data)
	if err != nil {
		return full, mail, err
	}
	return opened.Make(ctx, int(limits.Bytes))
}

func (p *program) showMedia(c *cli.Context, cfg *config.Config, s *store.Store, m *core.Media) error {
	origin, err := mediaOrigin(c, cfg, s, m.TenantID)
	if err != nil {
		return err
	}
	return p.printer(c).record(m.View(origin))
}
