package campaigns

import (
	"reflect"
	"sync"

	"golang.org/x/sync/singleflight"

	"newsletterd/handlers/web"
	"newsletterd/mail"
)

// mailsKept is the maximum size in bytes of all email sources in a mailCache. The compiled emails are about four times
// as large.
const mailsKept = 4 * web.MiB

// mailCache holds recently compiled emails for pages that show them. Anyone with a link can request the same email
// repeatedly, and compiling an email of 60 KB takes 20 times as long as rendering it. The zero value is ready to use.
// It is safe for concurrent use.
type mailCache struct {
	compiling singleflight.Group // keeps concurrent requests from compiling the same email
	mu        sync.Mutex
	mails     map[string]*keptMail
	size      int
}

type keptMail struct {
	spec *mail.BulkSpec // source of the compiled email
	bulk *mail.Bulk
}

func (m *keptMail) size() int {
	s := m.spec
	return len(s.HTML) + len(s.Text) + len(s.HTMLLayout) + len(s.TextLayout)
}

// compile returns the email compiled from spec. shown is the purpose of the email, since pages show a job's email for
// several purposes. compile returns the same errors as mail.CompileBulk.
func (k *mailCache) compile(shown string, spec *mail.BulkSpec) (*mail.Bulk, error) {
	key := shown + " " + spec.JobID + " " + spec.ListID
	if m := k.held(key); m != nil && reflect.DeepEqual(m.spec, spec) {
		return m.bulk, nil
	}
	made, err, _ := k.compiling.Do(key, func() (any, error) {
		bulk, err := mail.CompileBulk(spec)
		if err != nil {
			return nil, err
		}
		m := &keptMail{spec, bulk}
		k.keep(key, m)
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	if m := made.(*keptMail); reflect.DeepEqual(m.spec, spec) {
		return m.bulk, nil
	}
	return mail.CompileBulk(spec) // the email was corrected while another request compiled it
}

func (k *mailCache) held(key string) *keptMail {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.mails[key]
}

func (k *mailCache) keep(key string, m *keptMail) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if old := k.mails[key]; old != nil {
		k.size -= old.size()
	}
	delete(k.mails, key)
	if m.size() > mailsKept {
		return
	}
	for other, old := range k.mails { // evict any entry, because requests arrive in no particular order
		if k.size+m.size() <= mailsKept {
			break
		}
		k.size -= old.size()
		delete(k.mails, other)
	}
	if k.mails == nil {
		k.mails = map[string]*keptMail{}
	}
	k.size += m.size()
	k.mails[key] = m
}
