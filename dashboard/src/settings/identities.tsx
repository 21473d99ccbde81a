import { Button, Group, Stack, Text } from '@mantine/core'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { call } from '../api.ts'
import { AsyncView } from '../ui/async-view.tsx'
import { Confirm } from '../ui/confirm.tsx'
import { startOf, useMethods } from '../ui/provider-buttons.tsx'
import { RelativeTime } from '../ui/relative-time.tsx'

const PROVIDERS = { entra: 'Microsoft', google: 'Google' } as const
type Provider = keyof typeof PROVIDERS
const RETURN_TO = '/settings?section=account'

function Unlink({ provider }: { provider: Provider }) {
  const queries = useQueryClient()
  return (
    <Confirm
      title={`Unlink ${PROVIDERS[provider]}?`}
      action="Unlink"
      work={async () => {
        await call('DELETE /v1/me/identities/{provider}', { params: { provider } })
        await queries.invalidateQueries({ queryKey: ['identities'] })
      }}
      trigger={(open) => (
        <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
          Unlink
        </Button>
      )}
    >
      You no longer sign in by it, and your other sessions that were opened by it end.
    </Confirm>
  )
}

/** Ways in besides the password: what is linked, and what could be. */
export function Identities() {
  const methods = useMethods().data
  const query = useQuery({
    queryKey: ['identities'],
    queryFn: ({ signal }) => call('GET /v1/me/identities', {}, signal)
  })
  const offered = (Object.keys(PROVIDERS) as Provider[]).filter((provider) => methods?.[provider])
  return (
    <AsyncView query={query}>
      {({ data }) => (
        <Stack gap="sm">
          {data.length === 0 ? (
            <Text size="sm" c="dimmed">
              {offered.length === 0
                ? 'No identity provider is set up at this installation: you sign in by password.'
                : 'None is linked: you sign in by password.'}
            </Text>
          ) : null}
          <Stack component="ul" gap="sm" className="plain-list">
            {data.map(({ provider, tenant, email, linkedAt }) => (
              <Group component="li" key={`${provider} ${tenant} ${email}`} justify="space-between">
                <div>
                  <Text size="sm" fw={600}>
                    {PROVIDERS[provider]}
                  </Text>
                  <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                    {email ?? tenant} · linked <RelativeTime at={linkedAt} />
                  </Text>
                </div>
                <Unlink provider={provider} />
              </Group>
            ))}
          </Stack>
          <Group>
            {offered.map((provider) => (
              <Button
                key={provider}
                component="a"
                variant="default"
                href={startOf(provider, { returnTo: RETURN_TO, link: '1' })}
              >
                Link {PROVIDERS[provider]}
              </Button>
            ))}
          </Group>
        </Stack>
      )}
    </AsyncView>
  )
}
