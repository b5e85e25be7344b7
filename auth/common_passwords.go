package auth

import (
	"compress/gzip"
	_ "embed"
	"io"
	"strings"
	"sync"
)

// packedCommon holds the most common passwords with at least 8 characters, in lower case, sorted, one per line. Use
// zcat to read the file.
//
//go:embed common.txt.gz
var packedCommon string

// commonPasswords returns the most common passwords as one string, with a newline before and after each.
var commonPasswords = sync.OnceValue(func() string {
	r, err := gzip.NewReader(strings.NewReader(packedCommon))
	if err != nil {
		panic(err) // the file is embedded
	}
	text, err := io.ReadAll(r)
	if err != nil {
		panic(err)
	}
	return "\n" + string(text)
})

// isCommon reports whether a password is among the most common ones, ignoring case.
func isCommon(password string) bool {
	return !strings.Contains(password, "\n") && strings.Contains(commonPasswords(), "\n"+strings.ToLower(password)+"\n")
}
