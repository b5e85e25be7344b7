package devices

import (
	"context"
	"crypto/sha256"
	"errors"
	"maps"
	"sync"
	"time"

	"newsletterd/core"
	"newsletterd/handlers/web"
	"newsletterd/store/devices"
	"newsletterd/store/files"
)

// uploadKey identifies a resumable upload of a user. If the connection breaks, the received part is kept so that the
// upload can resume.
type uploadKey struct{ user, key string }

// keyedUpload is a resumable upload. If up is nil, the upload is in progress. Otherwise, it has been waiting since the
// time in since.
type keyedUpload struct {
	up    *devices.Upload
	since time.Time
}

// keyedUploads holds the resumable uploads of all users.
type keyedUploads struct {
	mu    sync.Mutex
	byKey map[uploadKey]keyedUpload
}

func newKeyedUploads() *keyedUploads { return &keyedUploads{byKey: map[uploadKey]keyedUpload{}} }

const (
	maxUploadKey   = 64
	uploadsWaiting = 4 // per user; one more replaces the oldest
)

func checkUploadKey(field, key string) error {
	ok := len(key) > 0 && len(key) <= maxUploadKey
	for i := 0; i < len(key) && ok; i++ {
		c := key[i]
		ok = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
	}
	if !ok {
		return core.Invalidf(field, "%s must have 1 to %d characters: letters, digits, - and _.", field, maxUploadKey)
	}
	return nil
}

// modelID returns the id of the model that the upload creates. It is derived from the key, so a retry after a lost
// response finds the model, even much later, and never creates a second one.
func (k uploadKey) modelID() string {
	sum := sha256.Sum256([]byte("model by upload\x00" + k.user + "\x00" + k.key))
	return core.IDFromBytes(sum[:16])
}

func (r *Room) madeBy(c *web.Call, k uploadKey) (core.ModelView, error) {
	return r.Store.Model(c, c.Caller, k.modelID())
}

var errUnderWay = &core.Error{
	Kind: core.Conflict, Code: "upload_under_way",
	Message: "This upload is already in progress. Wait until it is finished.", RetryAfter: 2,
}

// find returns the waiting upload with this key. The caller must hold the lock.
func (u *keyedUploads) find(k uploadKey) (*devices.Upload, error) {
	maps.DeleteFunc(u.byKey, func(_ uploadKey, w keyedUpload) bool {
		return w.up != nil && time.Since(w.since) > files.UploadKept // housekeeping removes the chunks
	})
	w, ok := u.byKey[k]
	if ok && w.up == nil {
		return nil, errUnderWay
	}
	return w.up, nil
}

// errOffset is returned if the sender resumes an upload at the wrong offset.
var errOffset = &core.Error{
	Kind: core.Conflict, Code: "upload_offset", Field: "Upload-Offset",
	Message: "Upload-Offset does not match the bytes that were received. Continue at the current offset.",
}

// goOn returns the waiting upload with the key, or fresh if there is none. When the request ends, the caller must call
// ended.
func (u *keyedUploads) goOn(k uploadKey, fresh *devices.Upload) (*devices.Upload, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	up, err := u.find(k)
	if err != nil {
		return nil, err
	}
	if up == nil {
		up = fresh
	}
	u.byKey[k] = keyedUpload{}
	return up, nil
}

// ended closes an upload, or keeps its received part if keep is true.
func (u *keyedUploads) ended(ctx context.Context, k uploadKey, up *devices.Upload, keep bool) {
	if u.release(k, &up, keep); up != nil {
		up.Close(ctx)
	}
}

// release releases the key. Afterwards, up is the upload to close, or nil. It may be an older upload that the given one
// replaces.
func (u *keyedUploads) release(k uploadKey, up **devices.Upload, keep bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	delete(u.byKey, k)
	if !keep || (*up).Size() == 0 {
		return
	}
	n, oldest := 0, uploadKey{}
	for other, w := range u.byKey {
		if other.user != k.user || w.up == nil {
			continue
		}
		if n++; n == 1 || w.since.Before(u.byKey[oldest].since) {
			oldest = other
		}
	}
	u.byKey[k] = keyedUpload{*up, time.Now()}
	*up = nil
	if n >= uploadsWaiting {
		*up = u.byKey[oldest].up
		delete(u.byKey, oldest)
	}
}

type uploadStateQuery struct {
	Key string `query:"key" is:"required" like:"upload_key" min:"1" max:"64"`
}

func (in *uploadStateQuery) CheckInput() error { return checkUploadKey("key", in.Key) }

// uploadState holds the offset at which an upload resumes, or the model that it has created. While the upload is in
// progress, the offset is 0.
type uploadState struct {
	Offset   int64  `json:"offset"`
	UnderWay bool   `json:"under_way"`
	ModelID  string `json:"model_id,omitempty" about:"ID of the model; absent until the upload is complete"`
}

func (r *Room) uploadState(c *web.Call, in uploadStateQuery) (s uploadState, err error) {
	k := uploadKey{c.Caller.UserID, in.Key}
	r.keyed.mu.Lock()
	up, err := r.keyed.find(k)
	if up != nil {
		s.Offset = up.Size()
	}
	r.keyed.mu.Unlock()
	if s.UnderWay = err != nil; s.UnderWay || up != nil {
		return s, nil
	}
	made, err := r.madeBy(c, k)
	if errors.Is(err, core.ErrNotFound) {
		return s, nil
	}
	s.ModelID, s.Offset = made.ID, made.Size
	return s, err
}
