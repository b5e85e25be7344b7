package store

import "context"

// tenantList holds the statements of a list that is read by id: that of all tenants, and that of some, whose places are
// the id before, the number of records and, of the second, the tenants.
type tenantList struct{ All, Among string }

// newestFirst has a list begin with the greatest id.
const newestFirst = true

// listByTenant returns the statements of the records of a table for which live holds, by id; index holds tenant_id and
// id. "next" holds the next record of each tenant, so as many are read as are asked for, however many records these and
// other tenants have.
func listByTenant(columns, table, index, live string, newest bool) tenantList {
	after, first, order := " > ", "min", ""
	if newest {
		after, first, order = " < ", "max", " DESC"
	}
	step := "(SELECT " + first + "(id) FROM " + table + " INDEXED BY " + index + " WHERE tenant_id = "
	return tenantList{
		All: "SELECT " + columns + " FROM " + table + " WHERE id" + after + "?1 AND " + live + " ORDER BY id" + order +
			" LIMIT +?2",
		Among: "WITH RECURSIVE next (at, tenant) AS (SELECT " + step + "t.value AND id" + after + "?1), t.value " +
			"FROM (SELECT DISTINCT value FROM json_each(?3)) AS t UNION ALL SELECT " + step + "next.tenant AND id" +
			after + "next.at), tenant FROM next WHERE at IS NOT NULL ORDER BY 1" + order + ") SELECT " + columns +
			" FROM next CROSS JOIN " + table + " ON id = next.at WHERE " + live + " LIMIT +?2",
	}
}

// allOf reads a page of a list: of all tenants, or of those among tenants.
func (s *Store) allOf(ctx context.Context, dest any, l *tenantList, tenants []string, all bool, after any, limit int,
) error {
	if all {
		return s.all(ctx, dest, l.All, after, limit)
	}
	return s.all(ctx, dest, l.Among, after, limit, jsonOf(tenants))
}
