import { Button, Divider, Stack } from '@mantine/core'
import { IconBrandGoogle, IconBrandWindows } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { call } from '../api.ts'

const PROVIDERS = [
  { provider: 'entra', name: 'Microsoft', icon: IconBrandWindows },
  { provider: 'google', name: 'Google', icon: IconBrandGoogle }
] as const

/** How this installation lets people in. */
export function useMethods() {
  return useQuery({
    queryKey: ['methods'],
    queryFn: ({ signal }) => call('GET /v1/auth/methods', {}, signal),
    staleTime: Number.POSITIVE_INFINITY
  })
}

interface Query {
  /** Path of ours to come back to. */
  returnTo: string
  organizationId?: string
  invitation?: string
}

/** The address that sends the browser to a provider. */
export function startOf(provider: 'entra' | 'google', query: Query & { link?: '1' }): string {
  return `/v1/auth/sso/${provider}?${new URLSearchParams({ ...query })}`
}

/** Buttons of the identity providers that the operator has set up; nothing where there is none. */
export function ProviderButtons({ query }: { query: Query }) {
  const methods = useMethods().data
  const offered = PROVIDERS.filter(({ provider }) => methods?.[provider])
  if (offered.length === 0) return null
  return (
    <Stack gap="sm">
      <Divider label="or" />
      {offered.map(({ provider, name, icon: Icon }) => (
        <Button
          key={provider}
          component="a"
          href={startOf(provider, query)}
          variant="default"
          leftSection={<Icon size={18} aria-hidden />}
        >
          Sign in with {name}
        </Button>
      ))}
    </Stack>
  )
}
