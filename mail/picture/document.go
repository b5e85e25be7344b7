package picture

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"

	"newsletterd/core"
)

// Document returns a PDF as a media file with unchanged content. If data doesn't start like a PDF, ok is false.
func Document(data []byte) (f core.MediaFile, ok bool) {
	if !bytes.HasPrefix(data, []byte("%PDF-")) {
		return f, false
	}
	sum := sha256.Sum256(data)
	return core.MediaFile{SHA256: hex.EncodeToString(sum[:]), Type: core.PDF, Bytes: int64(len(data)), Data: data}, true
}
