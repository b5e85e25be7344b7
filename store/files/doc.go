// Package files reads and buffers the contents of models, images and imports, which the database stores in chunks.
//
//	store.go     New
//	chunks.go    reading
//	buffer.go    the memory of uploads
package files
