package db

import (
	"reflect"
	"slices"
	"strings"
)

// InsertInto returns the statement that inserts a row of these columns, which are separated by commas. The columns of a
// statement that is run often are a constant next to its arguments; those of a record are its fields (tableOf).
func InsertInto(table, columns string) string {
	places := strings.Repeat(", ?", strings.Count(columns, ",")+1)
	return "INSERT INTO " + table + " (" + columns + ") VALUES (" + places[2:] + ")"
}

// manyRows is a statement that inserts many rows, in texts for some numbers of them.
type manyRows [len(rowsAtOnce)]string

// rowsAtOnce are the numbers of rows that a statement of manyRows inserts, falling. More at once win nothing.
var rowsAtOnce = [...]int{100, 10, 1}

// InsertMany returns a statement that ends with a list of rows, between head and tail; the values of a row are its
// column1 to columnN.
func InsertMany(head string, columns int, tail string) (m manyRows) {
	row := "(" + strings.Repeat("?, ", columns-1) + "?)"
	for i, n := range rowsAtOnce {
		m[i] = head + "(VALUES " + strings.Repeat(row+", ", n-1) + row + ")" + tail
	}
	return m
}

// InsertMany runs a statement for n rows. same are the values of the places in front of the rows; row appends those of
// the i-th row.
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

// table is how the records of a type are kept: one column for each field, named by its db tag. The texts are built
// once, when the program starts. It is for records that change seldom: it reads fields by reflection.
type table[T any] struct {
	Columns string // of all fields, separated by commas, as SELECT and INSERT name them
	insert  string // INSERT of all fields, then of the extra columns

	set    string // UPDATE of the fields that may change, of the row with an id
	stored []recordField
	varies []recordField
}

// recordField is a field of a record.
type recordField struct {
	column string
	index  int
}

// TableOf describes the table of a record type. computed names the fields that are no columns or are written by
// statements of their own; fixed names those that an update leaves as they are; extra are columns without a field.
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

// UpdateRow writes the fields of a record that may change. core.ErrNotFound is returned where no row has the id.
func UpdateRow[T any](tx *Tx, t *table[T], record *T, id string) error {
	return tx.One(t.set, append(valuesOf(record, t.varies), id)...)
}

// valuesOf returns the values of fields as the driver takes them. Lists and objects are JSON texts; nil bytes are an
// empty value, for no column is NULL.
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
