package admin

import (
	"context"
	"io"
	"os"
	"path/filepath"

	"newsletterd/cmd/newsletterd/cli"
	"newsletterd/cmd/newsletterd/config"
	"newsletterd/cmd/newsletterd/parts"
	"newsletterd/core"
	"newsletterd/mail/picture"
	"newsletterd/store"
	"newsletterd/store/people"
)

func mediaFlags() []cli.Flag {
	return []cli.Flag{
		cli.String("name", "`NAME` of the image"),
		cli.String("alt", "alt `TEXT` for people who can't see the image"),
		cli.Bool("decorative", "mark the image as decorative: it needs no alt text"),
	}
}

// mediaInput returns the fields of an image that the flags set.
func mediaInput(c *cli.Context) core.MediaInput {
	return core.MediaInput{
		Name: cli.Given(c, "name"), Alt: cli.Given(c, "alt"), Decorative: cli.GivenBool(c, "decorative"),
	}
}

// mediaOrigin returns the origin that serves a tenant's images.
func mediaOrigin(c *cli.Context, cfg *config.Config, s *store.Store, tenantID string) (string, error) {
	t, err := s.Tenant(c.Context, tenantID)
	if err != nil {
		return "", cli.Missing(err, "tenant", tenantID)
	}
	return t.Origin(cfg.Origin()), nil
}

func (p commands) mediaCommands() *cli.Command {
	id := cli.ID(people.NounMedia)
	all := p.Command("list", "list a tenant's images, newest first", []cli.Flag{
		cli.Tenant("tenant (`ID` or name)"), cli.String("search", "filter by `TEXT` in the name or alt text"),
	}, []string{"tenant"}, func(c *cli.Context, cfg *config.Config, s *store.Store) error {
		origin, err := mediaOrigin(c, cfg, s, c.String("tenant"))
		if err != nil {
			return err
		}
		rows, err := cli.Pages(func(m core.MediaView) string { return m.ID },
			func(page core.Page) ([]core.MediaView, error) {
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
		return cli.List(p.Printer(c), rows, "id", "name", "type", "width", "height", "bytes", "url")
	})
	show := p.Command("show", "show an image", []cli.Flag{id}, []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			m, err := s.Media(c.Context, c.String("id"))
			if err != nil {
				return cli.Missing(err, "image", c.String("id"))
			}
			return p.showMedia(c, cfg, s, &m)
		})
	update := p.Command("update", "update an image's name or alt text", append(mediaFlags(), id), []string{"id"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			at := now()
			m, err := s.UpdateMedia(c.Context, c.String("id"), cli.Actor(), at, func(m *core.Media) error {
				return m.Change(mediaInput(c), at)
			})
			if err != nil {
				return cli.Missing(err, "image", c.String("id"))
			}
			return p.showMedia(c, cfg, s, &m)
		})
	del := p.Command("delete", "delete an image", []cli.Flag{
		id, cli.Bool("force", "delete it even if a template or send job uses it; recipients see a missing image"),
	}, []string{"id"}, func(c *cli.Context, _ *config.Config, s *store.Store) error {
		if err := s.DeleteMedia(c.Context, c.String("id"), c.Bool("force"), cli.Actor(), now()); err != nil {
			return cli.Missing(err, "image", c.String("id"))
		}
		return p.Done(c, "Image %s deleted.", c.String("id"))
	})
	return &cli.Command{
		Name: "media", Usage: "manage images and files for emails",
		Subcommands: []*cli.Command{p.addMediaCommand(), all, show, update, del},
	}
}

func (p commands) addMediaCommand() *cli.Command {
	add := p.Command("add", "add an image or a PDF", append(mediaFlags(), cli.Tenant("tenant (`ID` or name)"),
		cli.String("file", "image `FILE` (PNG, JPEG, GIF or WebP) or a PDF"),
		cli.String("video", "`URL` of the video that the image links to; without --file, fetch its thumbnail")),
		[]string{"tenant"},
		func(c *cli.Context, cfg *config.Config, s *store.Store) error {
			limits := parts.MediaLimits(cfg)
			in, full, mail, err := addedMedia(c, limits)
			if err != nil {
				return err
			}
			m, err := core.NewMedia(c.String("tenant"), cli.Actor(), in, now())
			if err != nil {
				return err
			}
			m.Full, m.Mail = full, mail
			if m, err = s.AddMedia(c.Context, m, limits, cli.Actor()); err != nil {
				return cli.Missing(err, "tenant", c.String("tenant"))
			}
			return p.showMedia(c, cfg, s, &m)
		})
	add.Description = `Images are rotated upright, converted to sRGB, stripped of metadata, and
scaled down to at most 1,200 pixels wide. Use the printed URL in the email.
With --video, the image gets a play mark.

   newsletterd admin media add --tenant Acme --file boot.jpg --alt "A boot on a stone"
   newsletterd admin media add --tenant Acme --video https://vimeo.com/76979871`
	return add
}

// addedMedia returns the fields and stored files for the new image that the flags describe.
func addedMedia(c *cli.Context, limits core.MediaLimits) (in core.MediaInput, full, mail core.MediaFile, err error) {
	in = mediaInput(c)
	path, video := c.String("file"), c.String("video")
	var data []byte
	switch {
	case path != "" && video == "":
		full, mail, err = readMedia(c.Context, path, limits)
	case path != "":
		if data, err = os.ReadFile(path); err == nil {
			full, mail, err = videoMedia(c.Context, data, limits)
		}
	case video != "":
		var title string
		if data, title, err = thumbnail(c.Context, video, limits); err == nil {
			full, mail, err = videoMedia(c.Context, data, limits)
		}
		if in.Alt == nil && in.Decorative == nil {
			in.Alt = &title
		}
		if in.Name == nil && title != "" {
			in.Name = &title // not a path: a title can contain a slash
		}
	default:
		err = cli.UsageError(c, "--file or --video is missing")
	}
	if in.Name == nil && path != "" {
		in.Name = new(filepath.Base(path))
	}
	return in, full, mail, err
}

// thumbnail fetches the thumbnail and title of a video.
func thumbnail(ctx context.Context, video string, limits core.MediaLimits) (data []byte, title string, err error) {
	body, title, err := parts.Videos().Thumbnail(ctx, video)
	if err != nil {
		return nil, "", err
	}
	defer body.Close()
	data, err = io.ReadAll(io.LimitReader(body, limits.Bytes+1))
	return data, title, err
}

// videoMedia is like mediaIn, for the thumbnail of a video. It adds a play button.
func videoMedia(ctx context.Context, data []byte, limits core.MediaLimits) (full, mail core.MediaFile, err error) {
	if int64(len(data)) > limits.Bytes {
		return full, mail, limits.TooLarge()
	}
	opened, err := picture.Open(data)
	if err == nil {
		err = opened.AddPlayMark()
	}
	if err != nil {
		return full, mail, err
	}
	return opened.Make(ctx, int(limits.Bytes))
}

// readMedia reads an image or document file and converts it to the form in which it is stored.
func readMedia(ctx context.Context, path string, limits core.MediaLimits) (full, mail core.MediaFile, err error) {
	file, err := os.Open(path)
	if err != nil {
		return full, mail, err
	}
	defer file.Close()
	return mediaIn(ctx, file, limits)
}

// mediaIn is like readMedia, for an open file.
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

func (p commands) showMedia(c *cli.Context, cfg *config.Config, s *store.Store, m *core.Media) error {
	origin, err := mediaOrigin(c, cfg, s, m.TenantID)
	if err != nil {
		return err
	}
	return p.Printer(c).Record(m.View(origin))
}
