package drafts

import (
	"context"

	"newsletterd/core"
	"newsletterd/mail/article"
	"newsletterd/mail/markup"
	"newsletterd/store/exports"
	"newsletterd/store/imports"
)

// EachPost calls take for each post in an export that archives can show. body is the post's content as clean HTML, and
// skipped the number of other posts. EachPost returns the errors of take and exports.Export.Posts.
func EachPost(ctx context.Context, e *exports.Export, now core.Instant,
	take func(p *exports.Post, body string) error,
) (skipped int64, err error) {
	var no, hidden int64
	skipped, err = e.Posts(ctx, now, func(p exports.Post) error {
		body := postBody(&p)
		if body == "" {
			hidden++
			return nil
		}
		no++
		p.No, p.Relative = no, article.HasRelative(body, e.HasPicture)
		return take(&p, body)
	})
	return skipped + hidden, err
}

// KeepPosts stores the posts in an uploaded export. It returns the errors of EachPost and of
// imports.ImportUpload.KeepPost.
func KeepPosts(ctx context.Context, up *imports.ImportUpload, e *exports.Export, now core.Instant) error {
	skipped, err := EachPost(ctx, e, now, func(p *exports.Post, body string) error {
		pictures := article.PostPictures(body)
		if err := up.KeepPost(ctx, &p.ImportedPost, body, pictureKeys(pictures)...); err != nil {
			return err
		}
		if p.Relative {
			up.Relative++
		}
		return packPictures(ctx, up, e, pictures)
	})
	up.PostsSkipped += skipped
	return err
}

func pictureKeys(pictures []string) []string {
	keys := make([]string, len(pictures))
	for i, address := range pictures {
		keys[i] = core.PictureKey(address)
	}
	return keys
}

// packPictures stores a post's images that the export contains.
func packPictures(ctx context.Context, up *imports.ImportUpload, e *exports.Export, pictures []string) error {
	for _, address := range pictures {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := core.PictureKey(address)
		if !up.Wants(key) {
			continue
		}
		data, err := e.Picture(address, up.PostRoom)
		if err == nil && data != nil {
			err = up.PackPicture(ctx, key, data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// PostText returns the text and images of a post for imports.Store.PublishPosts. body is clean HTML. It returns an
// error if body is nested too deeply.
func PostText(title, body string) (t imports.PostText, err error) {
	t.Pictures = pictureKeys(article.PostPictures(body))
	t.Words, t.Excerpt, err = article.ImportedText(title, body)
	return t, err
}

// postBody returns a post's content as clean HTML, or an empty string if archives can't show it.
func postBody(p *exports.Post) string {
	page := p.HTML
	if p.Markdown {
		var err error
		if page, err = markup.Page(page); err != nil {
			return ""
		}
	}
	body, err := article.OldPost(page)
	if err == nil {
		_, _, err = article.ImportedText(p.Title, body)
	}
	if err != nil {
		return ""
	}
	return body
}
