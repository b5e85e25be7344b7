-- The logo for dark backgrounds; empty: brand_logo_url stands on every background.
ALTER TABLE tenant ADD COLUMN brand_dark_logo_url TEXT NOT NULL DEFAULT '';
