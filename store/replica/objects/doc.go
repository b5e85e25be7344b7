// Package objects stores named byte values in a bucket: a bucket of an S3-compatible object storage, or a folder. It
// doesn't interpret the values. The replica of the database consists of them.
//
// # Parts
//
//	objects.go     Bucket, its conditions and errors; keys
//	open.go        Open: addresses of buckets
//	keys.go        credentials: from the environment, the machine's role or a web identity token
//	check.go       Probe, Owns, Own: whether a bucket can hold a replica
//	s3.go          a bucket over HTTP: the operations
//	s3_request.go  one request: deadline, signature, what is retried, what a response means
//	s3_read.go     reads an object, and resumes after lost connections
//	s3_list.go     listings and bulk deletes
//	s3_upload.go   streamed values, in parts
//	sign.go        AWS Signature Version 4
//	file.go        a bucket that is a folder
//	file_list.go   listings of it; file_lock_*.go: its lock, by operating system
//	file_mount.go  a folder whose disk may be unmounted and mounted again
//
// The package store/replica/objectstest has a server for tests, which injects the faults that a test requests.
//
// # Invariants
//
//   - A value appears whole or not at all, and is on the disk of the storage before Put returns.
//   - A failed conditional Put is never retried here. Its error is ErrAmbiguous if it may have had an effect.
//   - Reads, listings, deletes and unconditional writes are retried, because repeating them is safe.
//   - No error contains a secret. Apart from the metadata service, every connection to another machine uses TLS.
//
// # Flow
//
//	Put ── one request, signed ── 200: its ETag
//	                           ├─ 412: ErrPrecondition ── Own: was it our own Put, whose response was lost?
//	                           └─ 5xx, cut, late: ErrAmbiguous ── the caller repeats the Put
package objects
