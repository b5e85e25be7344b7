package devices

import (
	"context"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
)

// uploadQuery holds a file's metadata from the query. Fields of a multipart body take precedence.
type uploadQuery struct {
	Name        string `query:"name"`
	Description string `query:"description" about:"Description, at most 4,000 characters"`
	Visibility  string `query:"visibility"`
	ContentType string `header:"Content-Type" about:"Media type of the file; multipart/form-data takes the file from the part file"`

	Key    *string `header:"Upload-Key" like:"upload_key" min:"1" max:"64"`
	Offset int64   `header:"Upload-Offset" min:"0"`
}

// CheckInput validates the parameters of a resumable upload.
func (in *uploadQuery) CheckInput() error {
	if in.Offset < 0 || in.Offset > 0 && in.Key == nil {
		return core.Invalidf("Upload-Offset", "Upload-Offset must be 0 or more and needs an Upload-Key.")
	}
	if in.Key == nil {
		return nil
	}
	return checkUploadKey("Upload-Key", *in.Key)
}

// mayUpload returns an error if the caller's email address is not verified or the caller has too many models. It runs
// before the body is read.
func (r *Room) mayUpload(c *web.Call) error {
	if !c.Caller.EmailVerified {
		return core.ErrUnverifiedUpload
	}
	return r.Store.MayAddModel(c, c.Caller.UserID, r.Limits)
}

// upload receives a model's file: the raw body, or the part "file" of a multipart/form-data body.
func (r *Room) upload(c *web.Call, in uploadQuery) (m core.Model, err error) {
	if err := r.mayUpload(c); err != nil {
		return m, err
	}
	done, err := r.Uploads.Begin(c.Caller.UserID, c.Remote)
	if err != nil {
		return m, err
	}
	defer done()
	limits := r.Limits
	media, params, _ := mime.ParseMediaType(in.ContentType)
	form := media == "multipart/form-data"
	if c.Request.ContentLength == 0 && in.Offset == 0 {
		return m, core.Invalidf("",
			"The body is empty. Send the file as the body, or as multipart/form-data with a part named file.")
	}
	if allowed := limits.Bytes; c.Request.ContentLength > allowed &&
		(!form || c.Request.ContentLength > allowed+web.MultipartSlack) {
		return m, limits.TooLarge()
	}
	meta := core.ModelInput{
		Name: in.Name, Description: in.Description, Visibility: in.Visibility,
		ContentType: in.ContentType,
	}
	up := r.Store.NewUpload(c.Caller.UserID, limits)
	body := web.NewArriving(c)
	// Clean up or keep an interrupted upload even if the caller has disconnected.
	after := context.WithoutCancel(c)
	if in.Key == nil {
		defer func() { up.Close(after) }()
	} else {
		k := uploadKey{c.Caller.UserID, *in.Key}
		if up, err = r.keyed.goOn(k, up); err != nil {
			return m, err
		}
		defer func() { r.keyed.ended(after, k, up, err != nil && (body.Broke() || errors.Is(err, errOffset))) }()
		if made, err := r.madeBy(c, k); err == nil || !errors.Is(err, core.ErrNotFound) {
			return made.Model, err
		}
		if up.Size() != in.Offset {
			return m, errOffset
		}
	}
	read := func(file io.Reader) error {
		// Write each received chunk even if the connection is lost.
		return up.ReadFrom(after, file, r.Uploads.Grow(c), func() core.Instant { return core.At(time.Now()) })
	}
	if form {
		meta.ContentType = ""
		err = web.ReadParts(body, params["boundary"], filePart(&meta, read), modelField(&meta))
	} else if _, err = core.NewModel(c.Caller.UserID, meta, c.Now); err == nil {
		err = read(body)
	}
	if err != nil {
		return m, body.Explain(err)
	}
	if m, err = core.NewModel(c.Caller.UserID, meta, core.At(time.Now())); err != nil {
		return m, err
	}
	if in.Key != nil {
		m.ID = uploadKey{c.Caller.UserID, *in.Key}.modelID()
	}
	return up.Commit(c, m, web.Actor(c))
}

// filePart returns a function that reads the file's part of a multipart body. The file's name and type are the defaults
// for meta.
func filePart(meta *core.ModelInput, read func(io.Reader) error) func(*multipart.Part) error {
	return func(part *multipart.Part) error {
		if meta.Name == "" {
			meta.Name = part.FileName()
		}
		if meta.ContentType == "" {
			meta.ContentType = part.Header.Get("Content-Type")
		}
		return read(part)
	}
}

// modelField returns a function that stores a text field of a multipart body in meta.
func modelField(meta *core.ModelInput) func(name, text string) error {
	return func(name, text string) error {
		switch name {
		case "name":
			meta.Name = text
		case "description":
			meta.Description = text
		case "visibility":
			meta.Visibility = text
		case "content_type":
			meta.ContentType = text
		default:
			// ignore other fields, such as a form's button, unless the name looks like a typo
			if known := []string{"name", "description", "visibility", "content_type", "file"}; core.MeantKey(known,
				name) != "" {
				return core.JudgeKeys(known, []string{name})
			}
		}
		return nil
	}
}
