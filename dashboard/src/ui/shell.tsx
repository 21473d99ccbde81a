import {
  ActionIcon,
  AppShell,
  Avatar,
  Burger,
  Group,
  Menu,
  NavLink,
  Select,
  Text,
  UnstyledButton,
  useMantineColorScheme
} from '@mantine/core'
import { useDisclosure } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import {
  IconActivityHeartbeat,
  IconLogout,
  IconMoon,
  IconRobot,
  IconSettings,
  IconSun,
  IconUser
} from '@tabler/icons-react'
import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import { call } from '../api.ts'
import { useFreshSession, useMe } from '../session.tsx'
import { LiveState } from './live-state.tsx'
import { Logo } from './logo.tsx'
import { messageOf } from './problem-alert.tsx'

const PAGES = [
  { href: '/', label: 'Monitors', icon: IconActivityHeartbeat, of: /^\/($|monitors|welcome)/ },
  { href: '/agents', label: 'Agents', icon: IconRobot, of: /^\/agents/ },
  { href: '/settings', label: 'Settings', icon: IconSettings, of: /^\/settings/ }
] as const

function OrganizationSwitch() {
  const { organization, organizations } = useMe()
  const [, navigate] = useLocation()
  const refresh = useFreshSession()
  if (organizations.length < 2) {
    return (
      <Text size="sm" c="dimmed" className="clip" maw={220}>
        {organization.name}
      </Text>
    )
  }
  async function switchTo(organizationId: string): Promise<void> {
    try {
      await call('POST /v1/auth/switch', { body: { organizationId } })
      navigate('/')
      await refresh()
    } catch (error) {
      notifications.show({ color: 'red', message: messageOf(error) })
    }
  }
  return (
    <Select
      aria-label="Organization"
      size="xs"
      w={200}
      value={organization.id}
      data={organizations.map(({ id, name }) => ({ value: id, label: name }))}
      allowDeselect={false}
      onChange={(id) => {
        if (id !== null && id !== organization.id) void switchTo(id)
      }}
    />
  )
}

function PersonMenu() {
  const { user } = useMe()
  const [, navigate] = useLocation()
  const refresh = useFreshSession()
  async function signOut(): Promise<void> {
    try {
      await call('POST /v1/auth/logout', { body: {} })
      await refresh()
      navigate('/login')
    } catch (error) {
      notifications.show({ color: 'red', message: messageOf(error) })
    }
  }
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        <UnstyledButton aria-label={`${user.name}: account`}>
          <Group gap={8} wrap="nowrap">
            <Avatar size={34} color="pulse" aria-hidden>
              <IconUser size={19} />
            </Avatar>
            <Text size="sm" fw={600} className="clip" maw={160} visibleFrom="md">
              {user.name}
            </Text>
          </Group>
        </UnstyledButton>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{user.email}</Menu.Label>
        <Menu.Item leftSection={<IconUser size={16} aria-hidden />} component={Link} href="/settings?section=account">
          My account
        </Menu.Item>
        <Menu.Item leftSection={<IconLogout size={16} aria-hidden />} onClick={() => void signOut()}>
          Sign out
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  )
}

function ThemeSwitch() {
  const { colorScheme, setColorScheme } = useMantineColorScheme()
  const dark = colorScheme === 'dark' || (colorScheme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches)
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      size="lg"
      onClick={() => setColorScheme(dark ? 'light' : 'dark')}
      aria-label={dark ? 'Use light colours' : 'Use dark colours'}
    >
      {dark ? <IconSun size={18} aria-hidden /> : <IconMoon size={18} aria-hidden />}
    </ActionIcon>
  )
}

/** The frame of every signed-in page. */
export function Shell({ children }: { children: ReactNode }) {
  const [path] = useLocation()
  const [opened, { toggle, close }] = useDisclosure(false)
  return (
    <AppShell
      header={{ height: 56 }}
      navbar={{ width: 200, breakpoint: 'sm', collapsed: { mobile: !opened } }}
      padding="md"
    >
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="sm" wrap="nowrap">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Menu" />
            <UnstyledButton component={Link} href="/" aria-label="Pulsegate, monitors">
              <Logo />
            </UnstyledButton>
          </Group>
          <Group gap="sm" wrap="nowrap">
            <LiveState />
            <Group visibleFrom="xs">
              <OrganizationSwitch />
            </Group>
            <ThemeSwitch />
            <PersonMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label="Pages">
        {PAGES.map(({ href, label, icon: Icon, of }) => (
          <NavLink
            key={href}
            component={Link}
            href={href}
            label={label}
            leftSection={<Icon size={18} aria-hidden />}
            active={of.test(path)}
            aria-current={of.test(path) ? 'page' : undefined}
            onClick={close}
          />
        ))}
        <Group hiddenFrom="xs" mt="md" px="xs">
          <OrganizationSwitch />
        </Group>
      </AppShell.Navbar>
      <AppShell.Main>{children}</AppShell.Main>
    </AppShell>
  )
}
