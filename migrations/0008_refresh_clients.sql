set local role pulsegate_owner;

-- Digest of the client that used the token: it alone may ask again for the answer that it lost.
alter table refresh_tokens add column used_by bytea;

reset role;
