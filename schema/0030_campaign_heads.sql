-- Name and subject of a campaign without its bodies. A search of the table itself compares whole rows, bodies included.

CREATE INDEX campaign_head ON campaign (id, name, subject);
