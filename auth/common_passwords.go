package auth

import (
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
)

// The commonest passwords of at least 8 characters, in lower case, one a line, sorted; zcat shows them.
//
//go:embed common.txt.gz
var packedCommon string

// commonPasswords returns the list, with a newline before and after each password.
var commonPasswords = sync.OnceValue(func() string {
	r, err := gzip.NewReader(strings.NewReader(packedCommon))
	if err != nil {
		panic(err) // it is embedded
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return "\n" + string(text)
})

// isCommon reports whether a password is on the list, in upper or lower case.
func isCommon(password string) bool {
	return !strings.Contains(password, "\n") && strings.Contains(commonPasswords(), "\n"+strings.ToLower(password)+"\n")
}
