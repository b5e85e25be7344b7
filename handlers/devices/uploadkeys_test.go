package devices

import (
	"strings"
	"testing"
	"time"

	"newsletterd/core"
	"newsletterd/store/files"
	"newsletterd/store/storetest"
)

// TestUploadsThatWaitAreForgotten checks that an upload that has waited too long can't be resumed, even before
// housekeeping removes it.
func TestUploadsThatWaitAreForgotten(t *testing.T) {
	u := newKeyedUploads()
	s := storetest.Open(t)
	limits := core.ModelLimits{Bytes: 8 << 20, BytesPerOwner: 16 << 20}
	ann := storetest.Seed(t, s).NewUser("ann@user.example", "")
	up := s.NewUpload(ann.ID, limits)
	if err := up.ReadFrom(t.Context(), strings.NewReader("0123456789"), nil, func() core.Instant {
		return core.At(time.Now())
	}); err != nil {
		t.Fatal(err)
	}
	k := uploadKey{ann.ID, "k"}
	u.byKey[k] = keyedUpload{up, time.Now().Add(-files.UploadKept + time.Minute)}
	if is, err := u.find(k); is != up || err != nil {
		t.Errorf("%v %v", is, err)
	}
	// A file that has ended can't be continued.
	if err := up.ReadFrom(t.Context(), strings.NewReader("more"), nil, func() core.Instant {
		return core.At(time.Now())
	}); err == nil {
		t.Error("a file goes on after its end")
	}
	u.byKey[k] = keyedUpload{up, time.Now().Add(-files.UploadKept - time.Second)}
	if is, err := u.find(k); is != nil || err != nil || len(u.byKey) > 0 {
		t.Errorf("%v %v %v", is, err, u.byKey)
	}
	up.Close(t.Context())
}
