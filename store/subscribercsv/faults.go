package subscribercsv

import (
	"bufio"
	"encoding/csv"
	"io"
	"strconv"
	"strings"
)

// ByteOrderMark, at the start of a CSV file, makes spreadsheet programs read the file as UTF-8.
const ByteOrderMark = "\ufeff"

// Comma returns the cell separator of a spreadsheet program, which the API calls "comma" or "semicolon". If the CSV
// file isn't for one, Comma returns 0.
func Comma(spreadsheet string) rune {
	switch spreadsheet {
	case "comma":
		return ','
	case "semicolon":
		return ';'
	}
	return 0
}

// WriteSpreadsheet copies a CSV file in a form for spreadsheet programs: with a byte order mark, and with the character
// comma between cells. For programs that use a decimal comma, pass ';'. It returns the errors of both files, and an
// error if r is not CSV.
func WriteSpreadsheet(w io.Writer, r io.Reader, comma rune) error {
	buffer := bufio.NewWriterSize(w, 64<<10)
	if _, err := buffer.WriteString(ByteOrderMark); err != nil {
		return err
	}
	in, out := csv.NewReader(r), csv.NewWriter(buffer)
	in.FieldsPerRecord, in.ReuseRecord, out.Comma = -1, true, comma
	for {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err == nil {
			err = out.Write(record)
		}
		if err != nil {
			return err
		}
	}
	out.Flush()
	if err := out.Error(); err != nil {
		return err
	}
	return buffer.Flush()
}

// FirstFaults reads up to n lines from the beginning of a file written by Faults.
func FirstFaults(r io.Reader, n int) (faults []LineError, err error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = -1
	for len(faults) < n {
		record, err := in.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return faults, err
		}
		place := plainCell(record[0])
		at := strings.LastIndexByte(place, ':') + 1
		if line, notHead := strconv.Atoi(place[at:]); notHead == nil && len(record) > 1 {
			faults = append(faults, LineError{Line: line, Text: record[1], File: place[:max(at-1, 0)]})
		}
	}
	return faults, nil
}
