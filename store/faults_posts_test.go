package store

import (
	"context"
	"strings"

	"newsletterd/core"
	"newsletterd/store/campaigns"
	"newsletterd/store/imports"
)

// upload uploads a file with a person, a post and its pictures.
func (s *story) upload() (j core.ImportJob, err error) {
	ctx := s.Context()
	u, err := s.NewImportUpload(ctx, core.ImportJob{
		ID: core.NewID(), ListID: s.list, Name: "people.csv", CreatedBy: "test", CreatedAt: now0 + 110,
	}, 1<<20)
	if err != nil {
		return j, err
	}
	defer u.Close(context.Background())
	if err := u.ReadFrom(ctx, strings.NewReader("email\nuploaded@example.org\n"), nil,
		func() core.Instant { return now0 }); err != nil {
		return j, err
	}
	if err := u.KeepPost(ctx, &core.ImportedPost{No: 1, Title: "Hello", PostedAt: now0}, "<p>A</p>",
		"https://a.example/1.png", "2.png"); err != nil {
		return j, err
	}
	u.Wants("2.png")
	if err := u.PackPicture(ctx, "2.png", []byte("2")); err != nil {
		return j, err
	}
	return u.Commit(ctx, now0+110)
}

// posts tells of the posts of an import, and of copies of their pictures.
func (s *story) posts(id string) {
	ctx := s.Context()
	publishAt := func(id string, site core.OldSite) error {
		return s.PublishPosts(ctx, id, core.PostsInput{Site: site}, "test", now0+110,
			func(_, body string) (imports.PostText, error) {
				return imports.PostText{Words: body, Pictures: []string{"https://a.example/1.png", "2.png"}}, nil
			})
	}
	publish := func() error { return publishAt(id, "") }
	s.op("PublishPosts", publish)
	var t imports.PictureTurn
	s.op("NextPictures", func() (err error) { t, err = s.NextPictures(ctx, "", []string{"x"}); return err })
	s.op("PackedPicture", func() error { return onlyErr(s.PackedPicture(ctx, id, 2)) })
	s.op("PicturesAt", func() error { return onlyErr(s.PicturesAt(ctx, id, []string{"2.png"})) })
	m := core.Media{ID: core.NewID(), TenantID: s.tenant, Name: "2", CreatedBy: "test", CreatedAt: now0}
	m.Mail = core.MediaFile{SHA256: "c0", Type: "image/png", Width: 1, Height: 1, Bytes: 2, Data: []byte("xz")}
	m.Full = m.Mail
	s.op("StorePicture", func() error {
		if s.faultless {
			return s.StorePicture(ctx, &t, 2, m, core.MediaLimits{BytesPerTenant: 1 << 30})
		}
		err := s.StorePicture(ctx, &t, 2, m, core.MediaLimits{BytesPerTenant: 1 << 30})
		if core.KindOf(err) == core.NotFound { // an earlier try has stored it
			return nil
		}
		return err
	})
	s.op("FailPicture", func() error { return s.FailPicture(ctx, &t, 1, core.PictureNotFound) })
	s.op("LeavePictures", func() error { return s.LeavePictures(ctx, &imports.PictureTurn{ImportID: id, PostNo: 9}) })
	s.op("SettlePictures", func() error {
		return s.SettlePictures(ctx, &t, "<p>B</p>", &campaigns.IssueText{Words: "B"})
	})
	s.op("ImportPictures", func() error { return onlyErr(s.ImportPictures(ctx, id, "", core.Page{Limit: 2})) })
	s.op("PictureCounts", func() error { return onlyErr(s.PictureCounts(ctx, id)) })
	s.op("RetryPictures", func() error { return onlyErr(s.RetryPictures(ctx, id, "test", now0+110)) })
	s.op("ImportedIssues", func() error { return onlyErr(s.ImportedIssues(ctx, s.list, core.Page{Limit: 2})) })
	var again core.ImportJob
	s.op("NewImportUpload", func() (err error) { again, err = s.upload(); return err })
	s.op("PublishPosts", func() error { return publishAt(again.ID, "https://a.example") })
	s.op("RemoveIssue", func() error { return s.RemoveIssue(ctx, s.list, "hello", "test", now0+110) })
	s.op("PublishPosts", publish)
	s.op("WithdrawPosts", func() error { return s.WithdrawPosts(ctx, id, "test", now0+110) })
	s.op("RemovePictures", func() error { return s.RemovePictures(ctx, id) })
}
