package tenants

import (
	"context"

	"newsletterd/store/db"
)

// TenantList holds the statements that read a page of records, sorted by id. All reads the records of every tenant;
// Among reads only the records of some tenants. The parameters are the last id of the previous page, the number of
// records and, for Among, the tenants.
type TenantList struct{ All, Among string }

// NewestFirst is the argument of ListByTenant for a list that starts with the greatest id.
const NewestFirst = true

// ListByTenant returns the statements for the records of a table that meet the SQL condition live, sorted by id. index
// is the name of an index on tenant_id and id. The statements merge the next record of each tenant. They therefore
// don't read more records than requested, no matter how many the tenants have.
func ListByTenant(columns, table, index, live string, newest bool) TenantList {
	after, first, order := " > ", "min", ""
	if newest {
		after, first, order = " < ", "max", " DESC"
	}
	step := "(SELECT " + first + "(id) FROM " + table + " INDEXED BY " + index + " WHERE tenant_id = "
	return TenantList{
		All: "SELECT " + columns + " FROM " + table + " WHERE id" + after + "?1 AND " + live + " ORDER BY id" + order +
			" LIMIT +?2",
		Among: "WITH RECURSIVE next (at, tenant) AS (SELECT " + step + "t.value AND id" + after + "?1), t.value " +
			"FROM (SELECT DISTINCT value FROM json_each(?3)) AS t UNION ALL SELECT " + step + "next.tenant AND id" +
			after + "next.at), tenant FROM next WHERE at IS NOT NULL ORDER BY 1" + order + ") SELECT " + columns +
			" FROM next CROSS JOIN " + table + " ON id = next.at WHERE " + live + " LIMIT +?2",
	}
}

// AllOf reads a page of a list. It covers the given tenants or, if all is set, every tenant.
func (s *Store) AllOf(ctx context.Context, dest any, l *TenantList, tenants []string, all bool, after any, limit int,
) error {
	if all {
		return s.All(ctx, dest, l.All, after, limit)
	}
	return s.All(ctx, dest, l.Among, after, limit, db.JsonOf(tenants))
}
