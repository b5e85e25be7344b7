// Package files reads and buffers the bytes of models, pictures and imports, which lie in the database in chunks.
//
//	store.go     New
//	chunks.go    reading
//	buffer.go    the memory of what comes in
package files
