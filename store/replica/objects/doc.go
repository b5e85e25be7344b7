// Package objects keeps named values of bytes in a bucket: one of an object storage that speaks S3, or a folder. It
// knows nothing of what is in them; the replica of the database is made of them.
//
// # Parts
//
//	objects.go     Bucket, its conditions and errors; keys
//	open.go        Open: addresses of buckets
//	keys.go        the keys to them: from the environment, the role of the machine, a web identity token
//	check.go       Probe, Owns, Own: what a replica must know of a bucket
//	s3.go          a bucket over HTTP: the operations
//	s3_request.go  one request: deadline, signature, what is tried again, what an answer means
//	s3_read.go     what an object has, also over connections that are lost
//	s3_list.go     listings, and what is removed many at a time
//	s3_upload.go   values that come as a stream, in parts
//	sign.go        AWS Signature Version 4
//	file.go        a bucket that is a folder
//	file_list.go   listings of it; file_lock_*.go: its lock, by operating system
//	file_mount.go  a folder whose disk may be unmounted and mounted again
//
// The package store/replica/objectstest has a server for tests, which fails as told.
//
// # Invariants
//
//   - A value appears whole or not at all, and is on the disk of the storage before Put returns.
//   - A conditional Put that fails is never tried again here: its error is ErrAmbiguous where it may have had an effect.
//   - Reading, listing, removing and writing without a condition are tried again, for that changes nothing.
//   - No error names a secret, and no connection without TLS leaves this machine, but one to the metadata service.
//
// # Flow
//
//	Put ── one request, signed ── 200: its ETag
//	                           ├─ 412: ErrPrecondition ── Own: was it our own Put, whose answer was lost?
//	                           └─ 5xx, cut, late: ErrAmbiguous ── the caller puts it again
package objects
