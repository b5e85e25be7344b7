package campaigns

import (
	"reflect"
	"sync"

	"golang.org/x/sync/singleflight"

	"newsletterd/handlers/web"
	"newsletterd/mail"
)

// mailsKept bounds the sources of the mails in a mailCache, in bytes. Compiled, they take about four times as much.
const mailsKept = 4 * web.MiB

// mailCache holds mails that pages show, as they were compiled last: anyone with a link may ask for the same mail again
// and again, and to compile one of 60 KB takes 20 times as long as to render it. The zero value is ready. It is safe
// for concurrent use.
type mailCache struct {
	compiling singleflight.Group // by key, so that no crowd compiles the same
	mu        sync.Mutex
	mails     map[string]*keptMail
	size      int
}

type keptMail struct {
	spec *mail.BulkSpec // that it was compiled from
	bulk *mail.Bulk
}

func (m *keptMail) size() int {
	s := m.spec
	return len(s.HTML) + len(s.Text) + len(s.HTMLLayout) + len(s.TextLayout)
}

// compile returns a mail that is compiled from spec. shown says as what: a job may be shown in more than one way.
// Errors are those of mail.CompileBulk.
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
	return mail.CompileBulk(spec) // it was corrected while another one was compiled
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
	for other, old := range k.mails { // any other makes room: pages are asked for in no order
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
