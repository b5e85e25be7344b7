package handlers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/files"
)

const (
	uploadMemory      = 32 * web.MiB  // buffers of all uploads
	uploadsPerUser    = 4             // at once, each with a buffer of 1 MiB at most
	uploadsPerAddress = 8             // at once from one address of origin, of all its users together
	progressStep      = 64 * web.KiB  // must arrive within ProgressTimeout
	maxPartText       = 16 * web.KiB  // a field of a multipart body
	maxPartHead       = 64 * web.KiB  // what stands between the contents of two parts
	maxParts          = 20            // of a multipart body
	multipartSlack    = 256 * web.KiB // that a multipart body may be longer than its file
)

// uploads bounds what uploads take from other callers.
type uploads struct {
	memory    *semaphore.Weighted
	mu        sync.Mutex
	byUser    map[string]int
	byAddress map[netip.Addr]int // by AddressKey
	keyed     map[uploadKey]keyedUpload
}

func newUploads() *uploads {
	return &uploads{
		memory: semaphore.NewWeighted(uploadMemory), byUser: map[string]int{}, byAddress: map[netip.Addr]int{},
		keyed: map[uploadKey]keyedUpload{},
	}
}

// begin takes one of the places of a user and of the address that the upload comes from; the function gives both back.
func (u *uploads) begin(user string, remote netip.Addr) (func(), error) {
	from := web.AddressKey(remote)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.byUser[user] >= uploadsPerUser {
		return nil, tooManyUploads("A user", uploadsPerUser)
	}
	if from.IsValid() && u.byAddress[from] >= uploadsPerAddress {
		return nil, tooManyUploads("An IP address", uploadsPerAddress)
	}
	u.byUser[user]++
	u.byAddress[from]++
	return func() {
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.byUser[user]--; u.byUser[user] == 0 {
			delete(u.byUser, user)
		}
		if u.byAddress[from]--; u.byAddress[from] == 0 {
			delete(u.byAddress, from)
		}
	}, nil
}

func tooManyUploads(who string, n int) error {
	return (&core.Error{Kind: core.TooMany, Code: "rate_limited", RetryAfter: 5}).
		Sayf("%s can upload at most %d files at the same time. Wait until one is finished.", who, n)
}

func (u *uploads) grow(ctx context.Context) files.Grow {
	return func(n int) error {
		if n < 0 {
			u.memory.Release(int64(-n))
			return nil
		}
		ctx, cancel := context.WithTimeout(ctx, web.BodyBudgetWait)
		defer cancel()
		if err := u.memory.Acquire(ctx, int64(n)); err != nil {
			return web.ErrBusy.With(fmt.Errorf("memory of uploads: %w", err))
		}
		return nil
	}
}

// uploadQuery is what may be said about a file next to it; parts of a multipart body take precedence.
type uploadQuery struct {
	Name        string `query:"name"`
	Description string `query:"description"`
	Visibility  string `query:"visibility"`
	ContentType string `header:"Content-Type"`

	Key    *string `header:"Upload-Key" like:"upload_key" min:"1" max:"64"`
	Offset int64   `header:"Upload-Offset" min:"0"`
}

// CheckInput looks at what makes an upload one that goes on.
func (in *uploadQuery) CheckInput() error {
	if in.Offset < 0 || in.Offset > 0 && in.Key == nil {
		return core.Invalidf("Upload-Offset", "Upload-Offset must be 0 or more and needs an Upload-Key.")
	}
	if in.Key == nil {
		return nil
	}
	return checkUploadKey("Upload-Key", *in.Key)
}

// mayUpload refuses, before the body is read, an account whose address is not verified and an owner of too many models.
func (h *Handler) mayUpload(c *web.Call) error {
	if !c.Caller.EmailVerified {
		return core.ErrUnverifiedUpload
	}
	return h.options.Store.MayAddModel(c, c.Caller.UserID, h.options.ModelLimits)
}

// upload takes a file in: the body as it is, or the part "file" of a multipart/form-data body.
func (h *Handler) upload(c *web.Call, in uploadQuery) (m core.Model, err error) {
	if err := h.mayUpload(c); err != nil {
		return m, err
	}
	done, err := h.uploads.begin(c.Caller.UserID, c.Remote)
	if err != nil {
		return m, err
	}
	defer done()
	limits := h.options.ModelLimits
	media, params, _ := mime.ParseMediaType(in.ContentType)
	form := media == "multipart/form-data"
	if c.Request.ContentLength == 0 && in.Offset == 0 {
		return m, core.Invalidf("",
			"The body is empty. Send the file as the body, or as multipart/form-data with a part named file.")
	}
	if allowed := limits.Bytes; c.Request.ContentLength > allowed &&
		(!form || c.Request.ContentLength > allowed+multipartSlack) {
		return m, limits.TooLarge()
	}
	meta := core.ModelInput{
		Name: in.Name, Description: in.Description, Visibility: in.Visibility,
		ContentType: in.ContentType,
	}
	up := h.options.Store.NewUpload(c.Caller.UserID, limits)
	body := &arriving{c: c, r: c.Request.Body}
	// What broke off is cleared away, or kept, even if the caller has gone.
	after := context.WithoutCancel(c)
	if in.Key == nil {
		defer func() { up.Close(after) }()
	} else {
		k := uploadKey{c.Caller.UserID, *in.Key}
		if up, err = h.uploads.goOn(k, up); err != nil {
			return m, err
		}
		defer func() { h.uploads.ended(after, k, up, err != nil && (body.err != nil || errors.Is(err, errOffset))) }()
		if made, err := h.madeBy(c, k); err == nil || !errors.Is(err, core.ErrNotFound) {
			return made.Model, err
		}
		if up.Size() != in.Offset {
			return m, errOffset
		}
	}
	read := func(r io.Reader) error {
		// A chunk that has arrived is written, whether or not the line still stands.
		return up.ReadFrom(after, r, h.uploads.grow(c), func() core.Instant { return core.At(time.Now()) })
	}
	if form {
		meta.ContentType = ""
		err = readParts(body, params["boundary"], filePart(&meta, read), modelField(&meta))
	} else if _, err = core.NewModel(c.Caller.UserID, meta, c.Now); err == nil {
		err = read(body)
	}
	if err != nil {
		return m, body.explain(err)
	}
	if m, err = core.NewModel(c.Caller.UserID, meta, core.At(time.Now())); err != nil {
		return m, err
	}
	if in.Key != nil {
		m.ID = uploadKey{c.Caller.UserID, *in.Key}.modelID()
	}
	return up.Commit(c, m, actor(c))
}

// arriving is a body on its way in. It ends where too little of it arrives for too long.
type arriving struct {
	c    *web.Call
	r    io.Reader
	left int   // bytes until the deadline moves
	err  error // of the connection
}

func (a *arriving) Read(p []byte) (int, error) {
	if a.left <= 0 {
		_ = a.c.Control().SetReadDeadline(time.Now().Add(web.ProgressTimeout))
		a.left = progressStep
	}
	n, err := a.r.Read(p)
	a.left -= n
	if err != nil && err != io.EOF {
		a.err = err
	}
	return n, err
}

// explain separates a caller's error from ours: what broke while the body was read is the caller's.
func (a *arriving) explain(err error) error {
	if _, ours := errors.AsType[*core.Error](err); ours {
		return err
	}
	if a.err != nil {
		return web.BodyError(a.err)
	}
	return err
}

// readParts reads a multipart body (RFC 7578): fields of text, and one part "file".
func readParts(body io.Reader, boundary string, file func(*multipart.Part) error, field func(name, text string) error) error {
	bad := func(err error) error {
		return core.Invalidf("", "The body is not valid multipart/form-data.").With(err)
	}
	if boundary == "" {
		return bad(nil)
	}
	head := &headLimit{r: body, left: maxPartHead}
	parts := multipart.NewReader(head, boundary)
	files := 0
	for range maxParts {
		head.left = maxPartHead
		part, err := parts.NextRawPart()
		if err == io.EOF && files == 1 {
			return nil
		}
		if err == io.EOF {
			return core.Invalidf("file", "file is missing.")
		}
		if err != nil {
			return bad(err)
		}
		if part.FormName() != "file" {
			err = textPart(part, field)
		} else if files++; files > 1 {
			return core.Invalidf("file", "file is sent more than once. Send one file.")
		} else {
			head.left = -1
			err = file(part)
		}
		if errors.Is(err, io.ErrUnexpectedEOF) { // the body ends within the part
			return bad(err)
		}
		if err != nil {
			return err
		}
	}
	return bad(errors.New("too many parts"))
}

// filePart reads the file of a model, whose name and type count where nothing else is said.
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

// modelField takes a field of text over.
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
			// forms send more than they ask about, such as their button
			if known := []string{"name", "description", "visibility", "content_type", "file"}; core.MeantKey(known, name) != "" {
				return core.JudgeKeys(known, []string{name})
			}
		}
		return nil
	}
}

func textPart(part *multipart.Part, field func(name, text string) error) error {
	name := part.FormName()
	b, err := io.ReadAll(io.LimitReader(part, maxPartText+1))
	if err != nil {
		return err
	}
	if len(b) > maxPartText || !core.CleanText(string(b)) {
		return core.Invalidf(name, "%s must be UTF-8 text of at most %d bytes.", name, maxPartText)
	}
	return field(name, strings.TrimSpace(string(b)))
}

// headLimit bounds what mime/multipart reads for the head of a part, which it would hold in memory up to 10 MiB.
type headLimit struct {
	r    io.Reader
	left int // negative: the content of the file, which has its own limit
}

func (h *headLimit) Read(p []byte) (int, error) {
	if h.left < 0 {
		return h.r.Read(p)
	}
	if h.left == 0 {
		return 0, errors.New("the head of a part is too long")
	}
	n, err := h.r.Read(p[:min(len(p), h.left)])
	h.left -= n
	return n, err
}
