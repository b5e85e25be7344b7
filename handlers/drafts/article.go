package drafts

import (
	"context"
	"errors"
	"net/url"
	"strings"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/article"
	"newsletterd/mail/markup"
	"newsletterd/store"
	"newsletterd/store/campaigns"
)

// HeadOf returns the text by which archives list and find an email. fields and content are as for ArticleOf.
func HeadOf(ctx context.Context, s *store.Store, bulk *mail.Bulk, fields *core.CampaignFields, content *core.Content,
	now core.Instant,
) (h campaigns.IssueHead, err error) {
	subject, preheader, err := bulk.Head(&mail.Recipient{Preferences: "{}", Date: now.Time()})
	if err != nil {
		return h, err
	}
	tidy := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	h.Title, h.Summary = tidy(subject), tidy(preheader)
	a, err := ArticleOf(ctx, s, fields, *content, nil, h.Title, now)
	if core.KindOf(err) == core.Invalid {
		return h, nil // the email compiles, so archives can at least find its title
	}
	if err == nil {
		h.IssueText = textOf(a, h.Title)
	}
	return h, err
}

func textOf(a *article.Article, title string) (t campaigns.IssueText) {
	t.Words, t.Excerpt = a.Words, article.Excerpt(a.Words, title)
	for _, p := range a.Pictures {
		if p.Width >= smallestPicture && p.Height >= smallestPicture/2 {
			t.Picture, t.Width, t.Height = p.Address, p.Width, p.Height
			break
		}
	}
	return t
}

// smallestPicture is the minimum width in pixels of an issue's representative image. Smaller images are icons.
const smallestPicture = 160

// IssueText returns the text by which archives list and find an issue that was sent before this text was stored. An
// issue that can't be compiled has no text, so archives find it only by its title.
func IssueText(ctx context.Context, s *store.Store, i *core.Issue) (t campaigns.IssueText, err error) {
	a, err := IssueArticle(ctx, s, i, nil)
	if kind := core.KindOf(err); kind == core.Invalid || kind == core.NotFound {
		return t, nil
	}
	if err != nil {
		return t, err
	}
	return textOf(a, i.Title), nil
}

// IssueArticle returns an issue's article: the content that was approved and sent, its correction, or the imported
// post. at returns the URL of another issue in the archive. Imported posts link to other posts at that URL or, if at is
// nil, in the other tool.
func IssueArticle(ctx context.Context, s *store.Store, i *core.Issue,
	at func(slug string) string,
) (*article.Article, error) {
	if i.Imported {
		p, err := campaigns.ImportedBody(ctx, s.DB, i.No)
		if err != nil {
			return nil, err
		}
		return article.Imported(i.Title, p.Body, &article.Old{
			Site: p.Site, Picture: sizes(ctx, s),
			Issues: func(paths []string) (map[string]string, error) {
				if at == nil {
					return nil, nil
				}
				issues, err := campaigns.SlugsAt(ctx, s.DB, p.TenantID, i.ListID, paths)
				for path, slug := range issues {
					issues[path] = at(slug)
				}
				return issues, err
			},
		})
	}
	j, err := s.SendJobByNo(ctx, i.JobNo)
	if err != nil {
		return nil, err
	}
	mended, err := s.Mended(ctx, j.CampaignID)
	if err != nil {
		return nil, err
	}
	fields, err := ShownFields(ctx, s, j.CampaignID)
	if err != nil {
		return nil, err
	}
	if mended.CopyID != "" {
		j.CopyID = mended.CopyID
	}
	content, err := s.ContentOf(ctx, &j, i.ListID)
	if err != nil {
		return nil, err
	}
	return ArticleOf(ctx, s, &fields, content, mended.Links, i.Title, i.SentAt)
}

// IssueAuthor returns the author of an imported issue, or the campaign's own sender name, or an empty string.
func IssueAuthor(ctx context.Context, s *store.Store, i *core.Issue) (string, error) {
	if i.Imported {
		return i.Author, nil
	}
	fields, err := ShownFields(ctx, s, i.CampaignID)
	return fields.FromName, err
}

// ArticleOf creates the article that archives show for a campaign, rendered for a subscriber with no details. fields
// contains the text to show. content is the content from which the emails were generated. The page already shows title
// above the article.
func ArticleOf(ctx context.Context, s *store.Store, fields *core.CampaignFields, content core.Content,
	mended map[string]string, title string, at core.Instant,
) (*article.Article, error) {
	spec := mail.JobSpec("", &content, mail.ShownSender)
	return article.New(&article.Source{
		Kind: fields.Content.Kind, Text: fields.Content.Source, Polls: fields.Polls, Title: title,
		Vars: mail.Vars{Shared: &spec.Shared, Preferences: "{}", Date: at.Time()},
		Link: func(address string) string {
			if to := mended[address]; to != "" {
				return to
			}
			if to := mended[markup.WithUTM(address, &fields.UTM, content.Tenant.PublicURL)]; to != "" {
				return to
			}
			return address
		},
		Picture: sizes(ctx, s),
	})
}

// sizes returns a function for Source.Picture, which looks up an image's size.
func sizes(ctx context.Context, s *store.Store) func(address string) (width, height int) {
	return func(address string) (width, height int) {
		f, err := pictureAt(ctx, s, address)
		if err != nil {
			return 0, 0
		}
		return f.Width, f.Height
	}
}

// ImportedText returns the text by which archives list and find an imported issue. body is clean HTML.
func ImportedText(ctx context.Context, s *store.Store, title, body string) (t campaigns.IssueText, err error) {
	a, err := article.Imported(title, body, &article.Old{Picture: sizes(ctx, s)})
	if err != nil {
		return t, err
	}
	return textOf(a, title), nil
}

var errElsewhere = errors.New("the image is not stored here")

// pictureAt returns the file for the URL of an image.
func pictureAt(ctx context.Context, s *store.Store, address string) (core.MediaFile, error) {
	u, err := url.Parse(address)
	if err != nil || !strings.HasPrefix(u.Path, core.MediaPath) {
		return core.MediaFile{}, errElsewhere
	}
	digits, _, _ := strings.Cut(strings.TrimPrefix(u.Path, core.MediaPath), "/")
	if !core.IsMediaDigits(digits) {
		return core.MediaFile{}, errElsewhere
	}
	f, _, err := s.MediaFile(ctx, digits)
	return f, err
}

// ShownFields returns a sent campaign's fields as pages show them: the approved fields with any correction applied.
func ShownFields(ctx context.Context, s *store.Store, campaignID string) (f core.CampaignFields, err error) {
	c, err := s.Campaign(ctx, campaignID)
	if err != nil {
		return f, err
	}
	if _, f, err = s.CampaignVersion(ctx, &c, c.ApprovedVersion); err != nil {
		return f, err
	}
	k, err := s.Correction(ctx, &c)
	switch {
	case errors.Is(err, core.ErrNotCorrected):
		return f, nil
	case err == nil:
		f.Subject, f.Content.Source, f.Content.Text = k.Subject, k.Source, k.Text
	}
	return f, err
}
