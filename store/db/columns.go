package db

import (
	"reflect"
	"slices"
	"strings"
)

// InsertInto returns the statement that inserts a row with these columns, which are separated by commas. For a frequent
// statement, the columns are a constant declared next to the arguments. For a record, they are derived from its fields
// (see TableOf).
func InsertInto(table, columns string) string {
	places := strings.Repeat(", ?", strings.Count(columns, ",")+1)
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + places[2:] + ")"
}

// manyRows is a statement that inserts many rows. It has one SQL string for each number in rowsAtOnce.
type manyRows [len(rowsAtOnce)]string

// rowsAtOnce holds the numbers of rows that a manyRows statement inserts, in descending order. Larger numbers are no
// faster.
var rowsAtOnce = [...]int{100, 10, 1}

// InsertMany returns a statement that consists of head, a list of rows, and tail. The values of a row are named column1
// to columnN.
func InsertMany(head string, columns int, tail string) (m manyRows) {
	row := "(" + strings.Repeat("?, ", columns-1) + "?)"
	for i, n := range rowsAtOnce {
		m[i] = head + "(VALUES " + strings.Repeat(row+", ", n-1) + row + ")" + tail
	}
	return m
}

// InsertMany runs a statement for n rows. same holds the values of the parameters that precede the rows. row appends
// the values of row i to args.
func (tx *Tx) InsertMany(m *manyRows, same []any, n int, row func(args []any, i int) []any) error {
	args := same[:len(same):len(same)]
	for i := 0; i < n; {
		size := 0
		for n-i < rowsAtOnce[size] {
			size++
		}
		args = args[:len(same)]
		for range rowsAtOnce[size] {
			args = row(args, i)
			i++
		}
		if _, err := tx.Exec(m[size], args...); err != nil {
			return err
		}
	}
	return nil
}

// table describes how records of a type are stored: one column for each field, named by its db tag. The SQL statements
// are built once, when the program starts. Fields are read by reflection, so use a table only for records that rarely
// change.
type table[T any] struct {
	Columns string // all fields, separated by commas, as in SELECT and INSERT
	insert  string // INSERT of all fields, followed by the extra columns

	set    string // UPDATE by id of the fields that may change
	stored []recordField
	varies []recordField
}

// recordField is a field of a record.
type recordField struct {
	column string
	index  int
}

// TableOf describes the table of a record type. computed names the fields that have no column or that other
// statements write. fixed names the fields that an update leaves unchanged. extra names columns without a field.
func TableOf[T any](name string, computed, fixed []string, extra ...string) (t table[T]) {
	var names, sets []string
	for i := range reflect.TypeFor[T]().NumField() {
		f := recordField{column: reflect.TypeFor[T]().Field(i).Tag.Get("db"), index: i}
		if f.column == "" || f.column == "-" || slices.Contains(computed, f.column) {
			continue
		}
		names, t.stored = append(names, f.column), append(t.stored, f)
		if f.column != "id" && !slices.Contains(fixed, f.column) {
			sets, t.varies = append(sets, f.column+" = ?"), append(t.varies, f)
		}
	}
	t.Columns = strings.Join(names, ", ")
	t.insert = InsertInto(name, strings.Join(append(names, extra...), ", "))
	t.set = "UPDATE " + name + " SET " + strings.Join(sets, ", ") + " WHERE id = ?"
	return t
}

// InsertRow inserts a record, with the values of its table's extra columns. It returns the rowid.
func InsertRow[T any](tx *Tx, t *table[T], record *T, extra ...any) (rowID int64, err error) {
	return tx.Insert(t.insert, append(valuesOf(record, t.stored), extra...)...)
}

// UpdateRow writes the changeable fields of a record. If no row has the id, it returns core.ErrNotFound.
func UpdateRow[T any](tx *Tx, t *table[T], record *T, id string) error {
	return tx.One(t.set, append(valuesOf(record, t.varies), id)...)
}

// valuesOf returns the values of fields in the form that the driver takes. Lists and objects become JSON strings. Nil
// bytes become an empty value, because no column is NULL.
func valuesOf[T any](record *T, fields []recordField) []any {
	v := reflect.ValueOf(record).Elem()
	values := make([]any, 0, len(fields)+1)
	for _, f := range fields {
		value := v.Field(f.index)
		switch value.Kind() {
		case reflect.String:
			values = append(values, value.String())
			continue
		case reflect.Int64:
			values = append(values, value.Int())
			continue
		}
		switch value := value.Interface().(type) {
		case interface{ Column() string }:
			values = append(values, value.Column())
		case []byte:
			values = append(values, append([]byte{}, value...))
		default:
			values = append(values, value)
		}
	}
	return values
}
