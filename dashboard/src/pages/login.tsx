import { Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { IconBrandGoogle, IconBrandWindows } from '@tabler/icons-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useLocation, useSearchParams } from 'wouter'
import { call } from '../api.ts'
import { useFreshSession } from '../session.tsx'
import { ProblemAlert } from '../ui/problem-alert.tsx'
import { SignedOutPage } from '../ui/signed-out-page.tsx'
import { useSubmit } from '../ui/use-submit.ts'

/** Only a path of ours: nobody is sent elsewhere after signing in. */
function safePath(wanted: string | null): string {
  return wanted !== null && /^\/(?![/\\])/.test(wanted) ? wanted : '/'
}

export function LoginPage() {
  const [, navigate] = useLocation()
  const [search] = useSearchParams()
  const next = safePath(search.get('next'))
  const ssoFault = search.get('error')
  const refresh = useFreshSession()
  const methods = useQuery({
    queryKey: ['methods'],
    queryFn: ({ signal }) => call('GET /v1/auth/methods', {}, signal),
    staleTime: Number.POSITIVE_INFINITY
  })
  const form = useForm({ initialValues: { email: '', password: '' } })
  const { fault, busy, onSubmit } = useSubmit(form, async (body) => {
    await call('POST /v1/auth/login', { body })
    await refresh()
    navigate(next)
  })
  const sso = (provider: string) => `/v1/auth/sso/${provider}?returnTo=${encodeURIComponent(next)}`
  return (
    <SignedOutPage title="Sign in">
      <form onSubmit={onSubmit} noValidate>
        <Stack>
          <ProblemAlert error={fault} />
          {ssoFault === null || fault !== null ? null : (
            <Text size="sm" c="red" role="alert">
              Signing in did not work ({ssoFault.replaceAll('_', ' ')}). Try again, or use your password.
            </Text>
          )}
          <TextInput label="E-mail" type="email" required autoComplete="username" {...form.getInputProps('email')} />
          <PasswordInput
            label="Password"
            required
            autoComplete="current-password"
            visibilityToggleButtonProps={{ 'aria-label': 'Show or hide the password' }}
            {...form.getInputProps('password')}
          />
          <Button type="submit" loading={busy} fullWidth>
            Sign in
          </Button>
          {methods.data?.entra || methods.data?.google ? <Divider label="or" /> : null}
          {methods.data?.entra ? (
            <Button
              component="a"
              href={sso('entra')}
              variant="default"
              leftSection={<IconBrandWindows size={18} aria-hidden />}
            >
              Sign in with Microsoft
            </Button>
          ) : null}
          {methods.data?.google ? (
            <Button
              component="a"
              href={sso('google')}
              variant="default"
              leftSection={<IconBrandGoogle size={18} aria-hidden />}
            >
              Sign in with Google
            </Button>
          ) : null}
          <Text size="sm" ta="center">
            <Anchor component={Link} href="/forgot-password" inherit>
              Forgot the password?
            </Anchor>{' '}
            ·{' '}
            <Anchor component={Link} href="/signup" inherit>
              Sign up
            </Anchor>
          </Text>
        </Stack>
      </form>
    </SignedOutPage>
  )
}
